//! `espalier serve`.

use std::future::Future;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use clap::Args;
use espalier_documents::Documents;
use espalier_protocols::anchors::{self, AnchorLimits, AnchorName, DefaultAnchor, ServedAnchors};
use espalier_protocols::audit;
use espalier_protocols::documents::{self, DocumentsService};
use espalier_protocols::intake::Intake;
use espalier_protocols::restconf::{RestconfConfig, RestconfServer, StateWrites};
use espalier_protocols::stats;
use espalier_protocols::{health_and_metrics, server};
use espalier_service::Service;
use espalier_stats::Stats;
use espalier_store::{Error, Store, Subspace, Tree};
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::{Value as Json, json};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::commands::admin_api::AdminApi;
use crate::commands::index_builds::resume_index_builds;
use crate::commands::serve;
use crate::commands::serve::listen_options::{self, ListenOptions, intake_config, server_config};
use crate::commands::serve::login;
use crate::commands::serve::netconf::{NetconfListeners, ServedNetconf};
use crate::commands::serve::netconf_options::NetconfOptions;
use crate::commands::serve::reload::Reload;
use crate::commands::serve::unix_socket::UnixSocket;
use crate::commands::{
    datastore_routes, notifications, provider_routes, schema_and_edit_routes, version_routes,
};
use crate::endpoint;
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// The buckets of durations, in seconds.
const SECONDS_BUCKETS: [f64; 10] = [
    10e-6, 30e-6, 100e-6, 300e-6, 1e-3, 3e-3, 10e-3, 100e-3, 1.0, 10.0,
];

/// The interval of refreshing the settings of statistics.
const SETTINGS_INTERVAL: Duration = Duration::from_secs(1);

/// The interval of moving samples of metrics into their buckets.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// What follows the message that there is no default anchor.
const NO_DEFAULT_ANCHOR: &str = ": the store has no models for it, so that only /stats, /documents and the anchors at /dataspaces are served; stop the server and start it with --yang FILE|DIR|NAME to give it some";

/// The interval of checking for confirmed commits that have expired.
const EXPIRE_INTERVAL: Duration = Duration::from_millis(500);

/// How long work that nobody waits for is waited for at the end.
const SHUTDOWN_MAX: Duration = Duration::from_secs(2);

/// The pause after each step of removing old buckets.
const EXPIRY_PAUSE: Duration = Duration::from_millis(50);

/// Serve a store: its data trees over NETCONF (RFC 6241) and RESTCONF (RFC 8040), statistics below /stats, document collections
/// below /documents
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier serve --store embedded:data
  espalier user add maria --admin --store embedded:data
  espalier serve --store embedded:data --listen 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem
  espalier serve --store embedded:data --unix-socket /run/espalier.sock
  espalier serve --store embedded:data --netconf-ssh 0.0.0.0:830 --netconf-host-keys keys
  espalier serve --store memory: --yang ietf-interfaces --yang ietf-ip --listen 127.0.0.1:0
  espalier serve --store embedded:data --dataspace lab --anchor core-1   # at /restconf; by default default/default

Then:
  curl http://127.0.0.1:8080/restconf/data
  curl http://127.0.0.1:8080/dataspaces   # the dataspaces; /dataspaces/lab/anchors lists anchors
  curl http://127.0.0.1:8080/dataspaces/lab/anchors/core-2/restconf/data
  curl http://127.0.0.1:8080/documents    # collections; see /openapi/documents.json
  curl http://127.0.0.1:8080/stats/keys   # statistics; see /openapi/stats.json
  curl http://127.0.0.1:8080/metrics      # counters, for Prometheus
  curl http://127.0.0.1:8080/healthz      # 200 if the store can be read, else 503

Every anchor is served at /dataspaces/DATASPACE/anchors/ANCHOR; --dataspace and --anchor name the one at /restconf.
A store without models (statistics or documents only) is served without RESTCONF.
After SIGINT or SIGTERM the server completes active requests and ends; a second signal ends it at once. After SIGHUP it
reads certificates, authorities, host keys, and netconf-call-home of the configuration file again.")]
pub struct Serve {
    /// How often expired buckets of statistics are removed
    #[arg(long, value_name = "SECONDS", default_value = "60",
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    stats_expiry: u64,

    /// Allow clients to write state data (config false), which RFC 8040 forbids
    #[arg(long)]
    allow_state_writes: bool,

    #[command(flatten)]
    listen_options: ListenOptions,

    #[command(flatten)]
    netconf_options: NetconfOptions,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Serve {
    /// Serves until a signal arrives.
    pub fn run(&self, settings: Settings, file: Option<&Path>) -> Result<()> {
        let flags = self.listen_options.over(Settings::from(&self.access));
        let flags = self.netconf_options.over(flags);
        let settings = Settings {
            // All datastores are served.
            datastore: None,
            ..flags.clone().over(settings)
        };
        if settings.server.is_some() {
            return Err(Failure::usage("serve needs a store, not a server")
                .hint("add --store embedded:DIR"));
        }
        let config = server_config(&settings)?;
        let intake = intake_config(&settings)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        // Bound before the store is opened, which may change its modules: a wrong address changes nothing.
        let listener = runtime.block_on(listen_options::bind(&settings))?;
        let unix_socket = UnixSocket::bind(&settings)?;
        let netconf = runtime.block_on(NetconfListeners::bind(&settings))?;
        let served = ServedStore::open(&settings)?;
        let service = service_of(&settings, &served, config.tls.as_ref(), netconf.as_ref())?;
        let stats = self.start_stats(&served.store)?;
        let intake = Intake::new(intake);
        let mut router = served.router(stats, intake.clone())?;
        router = router.merge(audit::router(service.clone(), intake.clone()));
        resume_index_builds(served.documents.clone());
        let base_url = listen_options::base_url(&settings, listener.local_addr()?);
        let (anchors, router_of_anchors) =
            self.served_anchors(&service, &settings, base_url, intake)?;
        router = router.merge(router_of_anchors);
        let front_ends = FrontEnds {
            restconf: Arc::clone(anchors.server()),
            netconf: {
                let _context = runtime.enter();
                let serve = |netconf: NetconfListeners| netconf.serve(anchors, service.clone());
                netconf.map(serve).transpose()?
            },
        };
        let reload = Reload {
            flags,
            file: file.map(Path::to_path_buf),
            service: service.clone(),
            tls: config.tls.clone(),
            netconf: front_ends.netconf.as_ref().map(ServedNetconf::reloaded),
        };
        reload.start(&runtime)?;
        let config = server::Config {
            service: Some(service.clone()),
            unix_socket: {
                let _context = runtime.enter();
                let socket = unix_socket.as_ref();
                socket.map(UnixSocket::listener).transpose()?
            },
            ..config
        };
        if let Some(socket) = &unix_socket {
            tracing::info!(path = %socket.path().display(), "serving on a Unix socket");
        }
        runtime.block_on(self.listen(listener, config, &served, front_ends, router))?;
        serve::audit::stop(&service);
        served.store.driver().flush_all()?;
        tracing::info!("stopped");
        // What still runs, as the compilation of modules for a client that has left, must not keep the process.
        runtime.shutdown_timeout(SHUTDOWN_MAX);
        Ok(())
    }

    /// The statistics of the store, kept up to date.
    fn start_stats(&self, store: &Store) -> Result<Arc<Stats>> {
        let stats = open_stats(store)?;
        refresh_stats_settings(&stats);
        remove_expired(&stats, Duration::from_secs(self.stats_expiry));
        Ok(stats)
    }

    /// All anchors, and their routes. When another process changes an anchor or its models, it is opened again.
    fn served_anchors(
        &self,
        service: &Service,
        settings: &Settings,
        base_url: String,
        intake: Intake,
    ) -> Result<(ServedAnchors, Router)> {
        let restconf = RestconfConfig {
            base_url,
            state_writes: match self.allow_state_writes {
                true => StateWrites::Allowed,
                false => StateWrites::Refused,
            },
            intake: intake.clone(),
            ..RestconfConfig::default()
        };
        let default = DefaultAnchor {
            name: AnchorName::new(settings.dataspace(), settings.anchor()),
            missing_hint: NO_DEFAULT_ANCHOR.to_owned(),
        };
        let limits = AnchorLimits::default();
        let served = ServedAnchors::new(service.clone(), default, restconf, limits)?;
        served.watch();
        let admin = datastore_routes::add(version_routes::add(AdminApi::new(intake)));
        let admin = provider_routes::add(admin);
        let admin = notifications::add(schema_and_edit_routes::add(admin))
            .described_read("/dataspaces", "The dataspaces, by page")
            .described_read("/dataspaces/{dataspace}/anchors", "The anchors, by page")
            .routes();
        let router = anchors::router(served.clone(), admin.of_each).merge(admin.description);
        Ok((served, router))
    }

    async fn listen(
        &self,
        listener: TcpListener,
        config: server::Config,
        served: &ServedStore,
        front_ends: FrontEnds,
        router: Router,
    ) -> Result<()> {
        let scheme = match config.tls {
            Some(_) => "https",
            None => "http",
        };
        let url = format!("{scheme}://{}", listener.local_addr()?);
        let (restconf, text) = match &served.tree {
            Some(_) => (json!("/restconf"), format!("serving {url}/restconf")),
            None => (
                Json::Null,
                format!("serving {url}/stats and {url}/documents"),
            ),
        };
        let mut answer = json!({"url": url, "restconf": restconf});
        let mut text = text;
        if let Some(netconf) = &front_ends.netconf {
            for (transport, address) in netconf.addresses() {
                let address = address.as_str().unwrap_or_default();
                text.push_str(&format!("\nserving NETCONF over {transport} on {address}"));
            }
            answer["netconf"] = Json::from(netconf.addresses().clone());
        }
        output::print_result(self.output_options.json, &answer, &text)?;
        tracing::info!(%url, "serving");
        let stop = stop_signal()?;
        let documents = Arc::clone(&served.documents_service);
        let service = config.service.clone();
        let stop = async move {
            stop.await;
            // Otherwise a feed or an event stream keeps its request open until the client closes it.
            documents.end_feeds();
            if let Some(service) = &service {
                service.providers().end();
            }
            front_ends.restconf.end_event_streams();
            if let Some(netconf) = &front_ends.netconf {
                netconf.shut_down().await;
            }
        };
        server::serve(listener, router, config, stop).await?;
        Ok(())
    }
}

/// The front ends whose sessions outlast requests.
struct FrontEnds {
    restconf: Arc<RestconfServer>,
    netconf: Option<ServedNetconf>,
}

/// The service of a store, with its audit log, for the clients of these listeners. Confirmed commits are rolled back from
/// now on.
fn service_of(
    settings: &Settings,
    served: &ServedStore,
    tls: Option<&server::Tls>,
    netconf: Option<&NetconfListeners>,
) -> Result<Service> {
    let authorities = client_authorities(tls, netconf.and_then(NetconfListeners::tls));
    let (store, tree) = (&served.store, served.tree.as_ref());
    let service = login::service(settings, authorities, store, tree)?;
    serve::audit::start(&service, settings)?;
    roll_back_expired_commits(&service);
    Ok(service)
}

/// The authorities of the client certificates of all listeners, in DER.
fn client_authorities(
    of_http: Option<&server::Tls>,
    of_netconf: Option<&server::Tls>,
) -> Vec<Vec<u8>> {
    let listeners = of_http.into_iter().chain(of_netconf);
    let mut all: Vec<Vec<u8>> = listeners
        .flat_map(server::Tls::client_authorities)
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The store that is served.
struct ServedStore {
    store: Store,
    /// Running of the default anchor; `None` if there is no such anchor and the settings do not name it.
    tree: Option<Tree>,
    documents: Documents,
    documents_service: Arc<DocumentsService>,
}

impl ServedStore {
    fn open(settings: &Settings) -> Result<Self> {
        let is_named = settings.dataspace.is_some() || settings.anchor.is_some();
        if settings.yang.is_empty() && !is_named {
            let store = endpoint::open_store(settings)?;
            let tree = match store.anchor(settings.dataspace(), settings.anchor()) {
                Ok(_) => Some(endpoint::tree_of(&store, settings)?),
                Err(Error::Unknown { .. }) => None,
                Err(error) => return Err(error.into()),
            };
            return Ok(Self::new(store, tree));
        }
        let tree = endpoint::open_tree(settings)?;
        Ok(Self::new(tree.store().clone(), Some(tree)))
    }

    fn new(store: Store, tree: Option<Tree>) -> Self {
        let driver = Arc::clone(store.driver());
        let documents = Documents::new(driver, &Subspace::Documents.key());
        Self {
            store,
            tree,
            documents_service: Arc::new(DocumentsService::new(documents.clone())),
            documents,
        }
    }

    /// The routes of any store, with or without models.
    fn router(&self, stats: Arc<Stats>, intake: Intake) -> Result<Router> {
        let store = self.store.clone();
        let health = Arc::new(move || match store.driver().snapshot() {
            Ok(_) => Ok(()),
            Err(error) => Err(health_and_metrics::Unwell(error.to_string())),
        });
        Ok(Router::new()
            .merge(health_and_metrics::metrics(metrics(self.store.clone())?))
            .merge(health_and_metrics::health(health))
            .merge(documents::router(
                Arc::clone(&self.documents_service),
                intake.clone(),
            ))
            .merge(stats::router(stats, intake)))
    }
}

/// The statistics of the store.
fn open_stats(store: &Store) -> Result<Arc<Stats>> {
    let driver = Arc::clone(store.driver());
    let clock = Arc::new(espalier_stats::SystemClock);
    let stats = Stats::open(driver, &Subspace::Statistics.key(), clock)?;
    Ok(Arc::new(stats))
}

/// Runs a task at an interval until the process ends, on a thread of its own.
fn run_periodically(interval: Duration, mut task: impl FnMut() + Send + 'static) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(interval);
            task();
        }
    });
}

/// Refreshes the settings of statistics periodically, as other processes may change them.
fn refresh_stats_settings(stats: &Arc<Stats>) {
    let stats = Arc::clone(stats);
    run_periodically(SETTINGS_INTERVAL, move || {
        if let Err(error) = stats.refresh() {
            tracing::debug!(%error, "the settings of the statistics are not known anew");
        }
    });
}

/// Removes expired buckets periodically.
fn remove_expired(stats: &Arc<Stats>, interval: Duration) {
    let stats = Arc::clone(stats);
    run_periodically(interval, move || match expire_buckets(&stats) {
        Ok(0) => {}
        Ok(rows) => tracing::info!(rows, "buckets that are no longer kept were removed"),
        Err(error) => tracing::error!(%error, "old buckets were not removed"),
    });
}

fn expire_buckets(stats: &Stats) -> espalier_stats::Result<u64> {
    stats.expire(|| std::thread::sleep(EXPIRY_PAUSE))
}

/// Rolls back expired confirmed commits periodically.
fn roll_back_expired_commits(service: &Service) {
    let service = service.clone();
    run_periodically(EXPIRE_INTERVAL, move || {
        match service.roll_back_expired_commits() {
            Ok(0) => {}
            Ok(count) => tracing::warn!(count, "confirmed commits were rolled back"),
            Err(error) => tracing::error!(%error, "a confirmed commit was not rolled back"),
        }
    });
}

/// Starts recording metrics; returns the function that renders them.
fn metrics(store: Store) -> Result<health_and_metrics::RenderMetrics> {
    let failed = |error: metrics_exporter_prometheus::BuildError| {
        Failure::data(format!("the metrics cannot be recorded: {error}"))
    };
    let builder = PrometheusBuilder::new().set_buckets(&SECONDS_BUCKETS);
    let recorder = builder
        .map_err(failed)?
        .install_recorder()
        .map_err(failed)?;
    let upkeep = recorder.clone();
    // Samples accumulate until they are moved into buckets.
    run_periodically(UPKEEP_INTERVAL, move || upkeep.run_upkeep());
    Ok(Arc::new(move || {
        let effort = store.validation_effort();
        metrics::counter!("espalier_validation_checks_total").absolute(effort.checks);
        metrics::counter!("espalier_validation_fallbacks_total").absolute(effort.fallbacks);
        metrics::counter!("espalier_validation_visits_total").absolute(effort.visits);
        if let Some(lag) = store.driver().cache_status().lag {
            metrics::gauge!("espalier_memory_lag_seconds").set(lag.as_secs_f64());
        }
        recorder.render()
    }))
}

/// Completes at the first SIGINT or SIGTERM; the second ends the process.
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        tracing::info!("stopping: requests under way are finished first");
        tokio::spawn(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            std::process::exit(1);
        });
    })
}
