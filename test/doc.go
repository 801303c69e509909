// Package test is the root of a module with the tests that run the built program or need another program.
// To run the tests of a package, use go test -count=1 ./browser in this folder. Without -count=1, Go would
// not notice that the program has changed.
//
//	package          tests                                                       needs
//	bothengines      what the service promises, with SQLite and with PostgreSQL  initdb
//	browser          Swagger UI, by mouse and by keyboard                        chromium, npm
//	cli              the commands, most of them as scripts in testdata/script    zsh, fish
//	clients          generated clients, and linters of the OpenAPI document      java, mvn, node, npm, python3
//	documents        the commands and code of the documents, docs/deploy         systemd-analyze
//	faults           kills, power losses, failing disks, slow clients, the soak  gcc, slowhttptest; 30 minutes, with -short 2
//	ha               a PostgreSQL cluster whose nodes fail under load            patroni, etcd, nginx, and -timeout 45m
//	host             an example of a program that embeds petstore
//	image            the container image                                         podman, runc
//	linearizability  histories of concurrent requests, and planted bugs          initdb
//	litestream       the replication to another disk
//	monitoring       the alerts and the dashboard                                prometheus
//	postgres         what only the service on PostgreSQL does                    initdb
//	service          listeners, keys, log, metrics and signals of the service    nginx, apache2, caddy
//
//	package    helps the tests
//	followers  follow the changes with many clients
//	harness    build petstore, run its commands, and start servers
//
// The tests of faults, ha and litestream judge their histories with package linearizability.
// Package internal/test/testkit has checks and waits for the tests of both modules.
package test
