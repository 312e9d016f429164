/* libnetconf2, the library of netopeer2, as a client of a served store. Arguments: host, port, user, password. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <libyang/libyang.h>
#include <nc_client.h>

/* Milliseconds. */
#define WAIT_MAX 20000

#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

static const char *password;

static char *give_password(const char *user, const char *host, void *data)
{
    (void)user, (void)host, (void)data;
    return strdup(password);
}

static int accept_host_key(const char *host, ssh_session session, void *data)
{
    (void)host, (void)session, (void)data;
    return 0;
}

/* Sends a request; returns the content of its reply, or of its error, as text. */
static char *request(struct nc_session *session, struct nc_rpc *rpc)
{
    uint64_t id;
    struct lyd_node *envelope = NULL, *output = NULL;
    char *text = NULL;

    EXPECT(rpc);
    EXPECT(nc_send_rpc(session, rpc, WAIT_MAX, &id) == NC_MSG_RPC);
    for (;;) {
        NC_MSG_TYPE type = nc_recv_reply(session, rpc, id, WAIT_MAX, &envelope, &output);
        if (type == NC_MSG_NOTIF) {
            continue;
        }
        EXPECT(type == NC_MSG_REPLY);
        break;
    }
    nc_rpc_free(rpc);
    EXPECT(envelope || output);
    lyd_print_mem(&text, output ? output : envelope, LYD_XML, LYD_PRINT_WITHSIBLINGS);
    lyd_free_all(output);
    lyd_free_all(envelope);
    EXPECT(text);
    return text;
}

/* Sends a request whose reply has a text. */
static void expect(struct nc_session *session, struct nc_rpc *rpc, const char *part)
{
    char *text = request(session, rpc);
    if (!strstr(text, part)) {
        fprintf(stderr, "no %s in %s\n", part, text);
        exit(1);
    }
    free(text);
}

static struct nc_rpc *get_running(void)
{
    return nc_rpc_getconfig(NC_DATASTORE_RUNNING, "<c xmlns=\"urn:m\"/>", NC_WD_UNKNOWN, NC_PARAMTYPE_CONST);
}

static struct nc_rpc *edit(NC_DATASTORE target, const char *content)
{
    return nc_rpc_edit(target, NC_RPC_EDIT_DFLTOP_MERGE, NC_RPC_EDIT_TESTOPT_UNKNOWN, NC_RPC_EDIT_ERROPT_ROLLBACK,
            content, NC_PARAMTYPE_CONST);
}

static void expect_running(struct nc_session *session, const char *title)
{
    expect(session, get_running(), title);
}

/* Waits until running has a title. */
static void wait_for(struct nc_session *session, const char *title)
{
    for (int tries = 0; tries < 200; tries++) {
        char *text = request(session, get_running());
        int is_there = strstr(text, title) != NULL;
        free(text);
        if (is_there) {
            return;
        }
        usleep(100000);
    }
    EXPECT(!"running changed in time");
}

/* Receives notifications until one has a text. */
static void wait_for_notification(struct nc_session *session, const char *part)
{
    time_t end = time(NULL) + WAIT_MAX / 1000;
    while (time(NULL) < end) {
        struct lyd_node *envelope = NULL, *event = NULL;
        char *text = NULL;
        NC_MSG_TYPE type = nc_recv_notif(session, 1000, &envelope, &event);
        if (type == NC_MSG_WOULDBLOCK) {
            continue;
        }
        EXPECT(type == NC_MSG_NOTIF);
        lyd_print_mem(&text, event, LYD_XML, LYD_PRINT_WITHSIBLINGS);
        int is_found = text && strstr(text, part);
        free(text);
        lyd_free_all(event);
        lyd_free_all(envelope);
        if (is_found) {
            return;
        }
    }
    EXPECT(!"a notification in time");
}

/* Requests the text of every module of a session. */
static void get_schemas(struct nc_session *session)
{
    const struct ly_ctx *context = nc_session_get_ctx(session);
    const struct lys_module *module;
    uint32_t index = ly_ctx_internal_modules_count(context);
    unsigned count = 0;

    while ((module = ly_ctx_get_module_iter(context, &index))) {
        expect(session, nc_rpc_getschema(module->name, module->revision, "yang", NC_PARAMTYPE_CONST), module->name);
        count++;
    }
    EXPECT(count > 5);
    EXPECT(ly_ctx_get_module_implemented(context, "m"));
}

int main(int count, char **arguments)
{
    EXPECT(count == 5);
    const char *host = arguments[1];
    uint16_t port = (uint16_t)atoi(arguments[2]);
    password = arguments[4];

    nc_client_init();
    EXPECT(nc_client_ssh_set_username(arguments[3]) == 0);
    nc_client_ssh_set_auth_pref(NC_SSH_AUTH_PASSWORD, 3);
    nc_client_ssh_set_auth_pref(NC_SSH_AUTH_INTERACTIVE, -1);
    nc_client_ssh_set_auth_pref(NC_SSH_AUTH_PUBLICKEY, -1);
    nc_client_ssh_set_auth_password_clb(give_password, NULL);
    nc_client_ssh_set_auth_hostkey_check_clb(accept_host_key, NULL);

    struct nc_session *one = nc_connect_ssh(host, port, NULL);
    EXPECT(one);
    EXPECT(nc_session_get_version(one) == 1); /* base:1.1 */
    EXPECT(nc_session_cpblt(one, "urn:ietf:params:netconf:capability:candidate:1.0"));
    get_schemas(one);

    /* Get and edit, and an error. */
    expect(one, edit(NC_DATASTORE_RUNNING, "<c xmlns=\"urn:m\"><title>x &lt; é 😀</title></c>"), "ok");
    expect_running(one, "x &lt; é 😀");
    expect(one, edit(NC_DATASTORE_RUNNING, "<c xmlns=\"urn:m\"><e><k>a</k><v>300</v></e></c>"), "invalid-value");

    /* A candidate. */
    expect(one, nc_rpc_lock(NC_DATASTORE_CANDIDATE), "ok");
    expect(one, edit(NC_DATASTORE_CANDIDATE, "<c xmlns=\"urn:m\"><title>candidate</title></c>"), "ok");
    expect(one, nc_rpc_validate(NC_DATASTORE_CANDIDATE, NULL, NC_PARAMTYPE_CONST), "ok");
    expect(one, nc_rpc_commit(0, 0, NULL, NULL, NC_PARAMTYPE_CONST), "ok");
    expect(one, nc_rpc_unlock(NC_DATASTORE_CANDIDATE), "ok");
    expect_running(one, "candidate");

    /* A lock conflict between two sessions. */
    struct nc_session *two = nc_connect_ssh(host, port, NULL);
    EXPECT(two);
    EXPECT(nc_session_get_id(one) != nc_session_get_id(two));
    expect(one, nc_rpc_lock(NC_DATASTORE_RUNNING), "ok");
    expect(two, nc_rpc_lock(NC_DATASTORE_RUNNING), "lock-denied");
    expect(one, nc_rpc_unlock(NC_DATASTORE_RUNNING), "ok");

    /* A confirmed commit whose time ends. */
    expect(one, edit(NC_DATASTORE_CANDIDATE, "<c xmlns=\"urn:m\"><title>unconfirmed</title></c>"), "ok");
    expect(one, nc_rpc_commit(1, 1, NULL, NULL, NC_PARAMTYPE_CONST), "ok");
    expect_running(two, "unconfirmed");
    wait_for(two, "candidate");
    expect(one, nc_rpc_discard(), "ok");

    /* Past notifications, then new ones. */
    expect(two, nc_rpc_subscribe("NETCONF", NULL, "2020-01-01T00:00:00Z", NULL, NC_PARAMTYPE_CONST), "ok");
    wait_for_notification(two, "netconf-config-change");
    wait_for_notification(two, "replayComplete");
    expect(one, edit(NC_DATASTORE_RUNNING, "<c xmlns=\"urn:m\"><title>notified</title></c>"), "ok");
    wait_for_notification(two, "netconf-config-change");

    /* A session is ended by another one. */
    expect(one, nc_rpc_kill(nc_session_get_id(two)), "ok");
    struct lyd_node *envelope = NULL, *event = NULL;
    while (nc_recv_notif(two, 1000, &envelope, &event) == NC_MSG_NOTIF) {
        lyd_free_all(event);
        lyd_free_all(envelope);
        envelope = event = NULL;
    }
    EXPECT(nc_session_get_status(two) != NC_STATUS_RUNNING);
    nc_session_free(two, NULL);
    nc_session_free(one, NULL);

    struct nc_session *again = nc_connect_ssh(host, port, NULL);
    EXPECT(again);
    expect_running(again, "notified");
    nc_session_free(again, NULL);
    nc_client_destroy();
    puts("done");
    return 0;
}
