package documents

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"example.com/petstore/config"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

// deployDir contains the files for systemd, Kubernetes and Litestream.
const deployDir = "../../docs/deploy/"

// objects returns the Kubernetes objects of a file of docs/deploy, by kind.
func objects(t *testing.T, name string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, text := range strings.Split(harness.ReadFile(t, deployDir+name), "\n---\n") {
		var object map[string]any
		testkit.Check(t, yaml.Unmarshal([]byte(text), &object))
		all[fmt.Sprint(object["kind"])] = object
	}
	return all
}

// at returns the value of an object at a path of members and indexes, or nil.
func at(object any, path string) any {
	for part := range strings.SplitSeq(path, "/") {
		switch parent := object.(type) {
		case map[string]any:
			object = parent[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(parent) {
				return nil
			}
			object = parent[i]
		default:
			return nil
		}
	}
	return object
}

func TestKubernetesManifestsAreValid(t *testing.T) {
	t.Parallel()
	for file, want := range map[string][]string{
		"kubernetes.yaml":          {"Deployment serve", "Job migrate up", "PersistentVolumeClaim", "Secret", "Service"},
		"kubernetes-backup.yaml":   {"CronJob backup --keep 7 /backups", "PersistentVolumeClaim"},
		"kubernetes-postgres.yaml": {"Deployment serve", "Job migrate up", "PodDisruptionBudget", "Secret", "Service"},
	} {
		var got []string // the kind of each object, with the arguments of its container
		for kind, object := range objects(t, file) {
			if at(object, "apiVersion") == nil || !strings.HasPrefix(fmt.Sprint(at(object, "metadata/name")), "petstore") {
				t.Errorf("%s: got the %s %v, want one with an apiVersion whose name starts with petstore", file, kind, object)
			}
			pod := at(object, "spec/template")
			if kind == "CronJob" {
				pod = at(object, "spec/jobTemplate/spec/template")
			}
			if pod != nil {
				container := at(pod, "spec/containers/0")
				if at(container, "env") == nil || at(pod, "spec/containers/1") != nil {
					t.Fatalf("%s: got the %s %v, want one container, with environment variables", file, kind, object)
				}
				var environ []string
				for _, variable := range at(container, "env").([]any) {
					environ = append(environ, fmt.Sprintf("%v=%v", at(variable, "name"), at(variable, "value")))
				}
				args := strings.Trim(fmt.Sprint(at(container, "args")), "[]")
				wantAccepted(t, file+" "+kind, args, environ)
				kind += " " + args
			}
			got = append(got, kind)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

func TestKubernetesBacksUpTheStoreOfTheDeployment(t *testing.T) {
	t.Parallel()
	service, backup := objects(t, "kubernetes.yaml"), objects(t, "kubernetes-backup.yaml")
	deployed, job := at(service["Deployment"], "spec/template"), at(backup["CronJob"], "spec/jobTemplate/spec/template")
	other := at(job, "spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/0")
	equal := map[string][2]any{
		"claim of the backups": {
			at(backup["PersistentVolumeClaim"], "metadata/name"),
			at(job, "spec/volumes/1/persistentVolumeClaim/claimName"),
		},
		"labels of the node's other pod": {at(deployed, "metadata/labels"), at(other, "labelSelector/matchLabels")},
		"topologyKey":                    {"kubernetes.io/hostname", at(other, "topologyKey")},
		"concurrencyPolicy":              {"Forbid", at(backup["CronJob"], "spec/concurrencyPolicy")},
		"settings, only the store":       {[]any{at(deployed, "spec/containers/0/env/2")}, at(job, "spec/containers/0/env")},
	}
	for _, path := range []string{
		"spec/securityContext", "spec/containers/0/image", "spec/containers/0/securityContext",
		"spec/volumes/0/persistentVolumeClaim",
	} {
		equal[path] = [2]any{at(deployed, path), at(job, path)}
	}
	for what, pair := range equal {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" || pair[0] == nil {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	if cmp.Equal(at(job, "metadata/labels"), at(service["Service"], "spec/selector")) {
		t.Error("the Service sends requests to the pods of the backup")
	}
}

// During a failover, which may take 35 s, no pod is ready. If a pod were removed from the Service earlier,
// all pods would be removed, and clients would get no response.
func TestKubernetesKeepsReplicasDuringAFailover(t *testing.T) {
	t.Parallel()
	probe := at(objects(t, "kubernetes-postgres.yaml")["Deployment"], "spec/template/spec/containers/0/readinessProbe")
	if seconds := at(probe, "periodSeconds").(int) * at(probe, "failureThreshold").(int); seconds < 40 {
		t.Errorf("a pod is removed after %d s, want at least 40", seconds)
	}
}

// wantAccepted expects that args are a command of petstore, and that environ are valid settings. The file
// of the connection string is replaced.
func wantAccepted(t *testing.T, name, args string, environ []string) {
	t.Helper()
	dir := t.TempDir()
	harness.WriteFile(t, dir, "dsn", "postgres://db/shop")
	cmd := harness.Command(t.Context(), dir, "config")
	cmd.Env = []string{"HOME=" + dir}
	for _, variable := range environ {
		if strings.HasPrefix(variable, "PETSTORE_DATABASE_DSN_FILE=") {
			variable = "PETSTORE_DATABASE_DSN_FILE=dsn"
		}
		cmd.Env = append(cmd.Env, variable)
	}
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v: %s", name, err, output)
	}
	wantValidCommandLine(t, strings.Fields(args))
}

// The DSN of a PostgreSQL database contains a password, so it must be possible to name a file that contains
// the DSN. The tests in the folder image run the image.
func TestDockerfileHasAVolumeAndValidSettings(t *testing.T) {
	t.Parallel()
	dockerfile := harness.ReadFile(t, "../../Dockerfile")
	if !strings.Contains(dockerfile, "\nVOLUME /data\n") {
		t.Error("the Dockerfile has no VOLUME /data")
	}
	variables := regexp.MustCompile(`PETSTORE_[A-Z_]+=\S+`).FindAllString(dockerfile, -1)
	wantAccepted(t, "Dockerfile with a DSN", "serve", append(variables, "PETSTORE_DATABASE_DRIVER=postgres", "PETSTORE_DATABASE_DSN_FILE="))
}

// TestComposeFileFitsItsParts checks what does not need the images: the settings of petstore, and that the other files name
// the services, ports and paths of compose.yaml.
func TestComposeFileFitsItsParts(t *testing.T) {
	t.Parallel()
	decode := func(file string) (document any) {
		testkit.Check(t, yaml.Unmarshal([]byte(harness.ReadFile(t, deployDir+file)), &document))
		return document
	}
	compose := decode("compose.yaml")
	mounted := map[string]string{} // the path in the container by file
	for name, service := range at(compose, "services").(map[string]any) {
		for _, part := range []string{"ports", "volumes"} {
			list, _ := at(service, part).([]any)
			for _, entry := range list {
				from, to, _ := strings.Cut(fmt.Sprint(entry), ":")
				if part == "ports" && from != "127.0.0.1" {
					t.Errorf("%s: the port %v can be reached by others", name, entry)
				}
				if file, ok := strings.CutPrefix(from, "./"); ok {
					mounted[file] = strings.TrimSuffix(to, ":ro")
				}
			}
		}
	}
	var environ []string
	for name, value := range at(compose, "services/petstore-1/environment").(map[string]any) {
		environ = append(environ, fmt.Sprintf("%s=%v", name, value))
	}
	wantAccepted(t, "compose.yaml", "serve", environ)

	dir := t.TempDir()
	for file, path := range mounted {
		harness.WriteFile(t, dir, filepath.Base(path), harness.ReadFile(t, deployDir+file))
	}
	check := exec.CommandContext(t.Context(), "promtool", "check", "config", filepath.Join(dir, "prometheus.yml"))
	if output, err := check.CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, output)
	}
	site := harness.ReadFile(t, deployDir+"nginx.conf")
	command := fmt.Sprint(at(compose, "services/nginx/command/2"))
	for i, replaced := range regexp.MustCompile(`s/([0-9.]+)/(petstore-\d)/`).FindAllStringSubmatch(command, -1) {
		if !strings.Contains(site, "server "+replaced[1]+":8080 ") || replaced[2] != fmt.Sprint("petstore-", i+1) {
			t.Errorf("nginx.conf: got the replacement %v, want a server of it by the name of a service", replaced[0])
		}
	}
	for what, pair := range map[string][2]any{
		"settings of both": {at(compose, "services/petstore-1"), at(compose, "services/petstore-2")},
		"targets": {
			[]any{"petstore-1:8081", "petstore-2:8081"},
			at(decode("compose/prometheus.yml"), "scrape_configs/0/static_configs/0/targets"),
		},
		"admin.address":      {":8081", at(compose, "services/petstore-1/environment/PETSTORE_ADMIN_ADDRESS")},
		"folder of rules":    {filepath.Dir(mounted["compose/prometheus.yml"]), filepath.Dir(mounted["alerts.yaml"])},
		"data source":        {"http://prometheus:9090", at(decode("compose/grafana-datasource.yaml"), "datasources/0/url")},
		"folder of the page": {filepath.Dir(mounted["grafana.json"]), at(decode("compose/grafana-dashboards.yaml"), "providers/0/options/path")},
	} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" || pair[0] == nil {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// TestSystemdUnitsAreValid lets systemd-analyze check the units, and how much a process of each unit may do.
// It replaces the programs of the units by /bin/true, because they are not installed.
func TestSystemdUnitsAreValid(t *testing.T) {
	t.Parallel()
	analyze := func(args ...string) {
		t.Helper()
		if output, err := exec.CommandContext(t.Context(), "systemd-analyze", args...).CombinedOutput(); err != nil {
			t.Errorf("systemd-analyze %v: %v (make deps installs it)\n%s", args, err, output)
		}
	}
	dir := t.TempDir()
	installed := strings.NewReplacer("/usr/local/bin/petstore", "/bin/true", "/usr/local/bin/litestream", "/bin/true")
	units := []string{"petstore.service", "petstore.socket", "petstore-litestream.service", "petstore-backup.service", "petstore-backup.timer"}
	for _, file := range units {
		unit := harness.ReadFile(t, deployDir+file)
		harness.WriteFile(t, dir, file, installed.Replace(unit))
		if strings.Contains(unit, "\nEnvironment=") {
			t.Errorf("%s sets environment variables, which other commands do not have: write them to petstore.yaml", file)
		}
		for _, command := range regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/petstore (.*)$`).FindAllStringSubmatch(unit, -1) {
			wantAccepted(t, file, command[1], nil)
		}
	}
	for _, file := range units { // all units are there, because they name each other
		analyze("verify", "--man=no", "--recursive-errors=no", filepath.Join(dir, file))
		if strings.HasSuffix(file, ".service") {
			analyze("security", "--offline=true", "--threshold=20", filepath.Join(dir, file)) // 2.0 of 10; without restrictions 9.6
		}
	}
}

// The settings, the units and Litestream name the same store and the same folder for backups. A restart of
// Litestream must not migrate the store of a running service.
func TestFilesForSystemdAgree(t *testing.T) {
	t.Parallel()
	const store, backups = "/var/lib/petstore/petstore.db", "/var/backups/petstore"
	settings, err := config.Load(config.Options{File: deployDir + "petstore.yaml"})
	if err != nil || settings.Database.DSN != store || settings.Server.Address != ":8080" {
		t.Errorf("got %+v, %v, want the store %s and the address :8080", settings, err, store)
	}
	for file, lines := range map[string][]string{
		"petstore.service": {
			"Type=notify", "TimeoutStartSec=infinity", "WatchdogSec=120", "User=petstore", "RuntimeDirectory=petstore", "StartLimitIntervalSec=0",
			"Restart=on-failure",
		},
		"petstore-litestream.service": {"User=petstore", "ExecStartPre=/usr/bin/test -s " + store, "StartLimitIntervalSec=0", "Restart=always"},
		"petstore.socket":             {"ListenStream=8080", "WantedBy=sockets.target"},
		"petstore-backup.timer":       {"WantedBy=timers.target"}, // a timer starts the service with the same name
		"petstore-backup.service":     {"User=petstore", "ExecStart=/usr/local/bin/petstore backup --keep 7 " + backups, "ReadWritePaths=" + backups},
		"litestream.yml":              {"  - path: " + store},
	} {
		for _, line := range lines {
			if !strings.Contains(harness.ReadFile(t, deployDir+file), "\n"+line+"\n") {
				t.Errorf("%s has no line %s", file, line)
			}
		}
	}
}
