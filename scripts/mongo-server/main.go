// Command mongo-server is FerretDB over SQLite: a server that speaks MongoDB's protocol, for tests.
//
// Usage: mongo-server ADDRESS DIRECTORY [CERTIFICATE KEY]
package main

import (
	"context"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 && len(os.Args) != 5 {
		log.Fatal("usage: mongo-server ADDRESS DIRECTORY [CERTIFICATE KEY]")
	}
	listener := ferretdb.ListenerConfig{TCP: os.Args[1]}
	if len(os.Args) == 5 {
		listener = ferretdb.ListenerConfig{
			TLS: os.Args[1], TLSCertFile: os.Args[3], TLSKeyFile: os.Args[4],
		}
	}
	level := slog.HandlerOptions{Level: slog.LevelError}
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  listener,
		Logger:    slog.New(slog.NewTextHandler(os.Stderr, &level)),
		Handler:   "sqlite",
		SQLiteURL: "file:" + os.Args[2] + "/",
	})
	if err != nil {
		log.Fatal(err)
	}
	ended, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := server.Run(ended); err != nil {
		log.Fatal(err)
	}
}
