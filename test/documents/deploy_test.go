package documents

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"example.com/petstore/test/harness"
)

// deployDir contains the files for systemd, Kubernetes and Litestream.
const deployDir = "../../docs/deploy/"

// objects returns the Kubernetes objects of a file of docs/deploy by kind.
func objects(t *testing.T, name string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, text := range strings.Split(harness.ReadFile(t, deployDir+name), "\n---\n") {
		var object map[string]any
		harness.Check(t, yaml.Unmarshal([]byte(text), &object))
		all[fmt.Sprint(object["kind"])] = object
	}
	return all
}

// at returns what an object has at a path of members and indexes, or nil.
func at(object any, path string) any {
	for part := range strings.SplitSeq(path, "/") {
		switch parent := object.(type) {
		case map[string]any:
			object = parent[part]
		case []any:
			i, _ := strconv.Atoi(part)
			object = parent[i]
		}
	}
	return object
}

// environ returns the environment variables of a container.
func environ(container any) (variables []string) {
	list, _ := at(container, "env").([]any)
	for _, variable := range list {
		variables = append(variables, fmt.Sprintf("%v=%v", at(variable, "name"), at(variable, "value")))
	}
	return variables
}

func TestKubernetesManifestsAreValid(t *testing.T) {
	t.Parallel()
	for file, kinds := range map[string][]string{
		"kubernetes.yaml":          {"Secret", "PersistentVolumeClaim", "Job", "Deployment", "Service"},
		"kubernetes-backup.yaml":   {"PersistentVolumeClaim", "CronJob"},
		"kubernetes-postgres.yaml": {"Secret", "Job", "Deployment", "PodDisruptionBudget", "Service"},
	} {
		all := objects(t, file)
		for _, kind := range kinds {
			object := all[kind]
			if object == nil || at(object, "apiVersion") == nil || !strings.HasPrefix(fmt.Sprint(at(object, "metadata/name")), "petstore") {
				t.Errorf("%s: got the %s %v, want one with an apiVersion whose name starts with petstore", file, kind, object)
			}
			pod := at(object, "spec/template")
			if kind == "CronJob" {
				pod = at(object, "spec/jobTemplate/spec/template")
			}
			containers, _ := at(pod, "spec/containers").([]any)
			if isWorkload := slices.Contains([]string{"Job", "CronJob", "Deployment"}, kind); isWorkload != (len(containers) == 1) {
				t.Errorf("%s: the %s has the containers %v", file, kind, containers)
			}
			for _, c := range containers {
				args := strings.Fields(strings.Trim(fmt.Sprint(at(c, "args")), "[]"))
				wantAccepted(t, kind, args, environ(c))
			}
		}
	}
}

func TestKubernetesBacksUpTheStoreOfTheDeployment(t *testing.T) {
	t.Parallel()
	service, backup := objects(t, "kubernetes.yaml"), objects(t, "kubernetes-backup.yaml")
	deployed, job := at(service["Deployment"], "spec/template"), at(backup["CronJob"], "spec/jobTemplate/spec/template")
	other := at(job, "spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/0")
	equal := map[string][2]any{
		"claim of the backups":           {at(backup["PersistentVolumeClaim"], "metadata/name"), at(job, "spec/volumes/1/persistentVolumeClaim/claimName")},
		"labels of the node's other pod": {at(deployed, "metadata/labels"), at(other, "labelSelector/matchLabels")},
		"topologyKey":                    {"kubernetes.io/hostname", at(other, "topologyKey")},
		"concurrencyPolicy":              {"Forbid", at(backup["CronJob"], "spec/concurrencyPolicy")},
	}
	for _, path := range []string{"spec/securityContext", "spec/containers/0/image", "spec/containers/0/securityContext", "spec/volumes/0/persistentVolumeClaim"} {
		equal[path] = [2]any{at(deployed, path), at(job, path)}
	}
	for what, pair := range equal {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" || pair[0] == nil {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	settings := environ(at(job, "spec/containers/0"))
	if dsn := settings[0]; len(settings) != 1 || !strings.HasPrefix(dsn, "PETSTORE_DATABASE_DSN=") || !slices.Contains(environ(at(deployed, "spec/containers/0")), dsn) {
		t.Errorf("got the settings %s, want the store of the service", settings)
	}
	if cmp.Equal(at(job, "metadata/labels"), at(service["Service"], "spec/selector")) {
		t.Error("the Service sends requests to the pods of the backup")
	}
}

// A failover takes up to 35 s. All pods would be removed from the Service meanwhile, and
// clients would get no response.
func TestKubernetesKeepsReplicasDuringAFailover(t *testing.T) {
	t.Parallel()
	probe := at(objects(t, "kubernetes-postgres.yaml")["Deployment"], "spec/template/spec/containers/0/readinessProbe")
	if seconds := at(probe, "periodSeconds").(int) * at(probe, "failureThreshold").(int); seconds < 40 {
		t.Errorf("a pod is removed after %d s, want at least 40", seconds)
	}
}

// wantAccepted expects that args are a command of petstore and that environ are valid
// settings. It replaces the files of PETSTORE_…_FILE by an empty file, or one with a
// connection string.
func wantAccepted(t *testing.T, name string, args, environ []string) {
	t.Helper()
	dir := t.TempDir()
	for file, text := range map[string]string{"PETSTORE_DATABASE_DSN_FILE": "postgres://db/shop", "PETSTORE_AUTH_BOOTSTRAP_KEY_FILE": ""} {
		harness.Check(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	for i, variable := range environ {
		if key, _, _ := strings.Cut(variable, "="); strings.HasSuffix(key, "_FILE") {
			environ[i] = key + "=" + filepath.Join(dir, key)
		}
	}
	cmd := harness.Command(t.Context(), t.TempDir(), "config")
	cmd.Env = append([]string{"HOME=" + t.TempDir()}, environ...)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v: %s", name, err, output)
	}
	wantValidCommandLine(t, args)
}

// The DSN of a PostgreSQL database contains a password, so it must be possible to name its file.
func TestDockerfileRunsPetstoreWithValidSettings(t *testing.T) {
	t.Parallel()
	dockerfile := harness.ReadFile(t, "../../Dockerfile")
	for _, want := range []string{"FROM scratch", "USER 65532:65532", "WORKDIR /data", "VOLUME /data", `ENTRYPOINT ["/petstore"]`, `CMD ["serve"]`} {
		if !strings.Contains(dockerfile, want) {
			t.Errorf("the Dockerfile does not contain %s", want)
		}
	}
	variables := regexp.MustCompile(`PETSTORE_[A-Z_]+=\S+`).FindAllString(dockerfile, -1)
	wantAccepted(t, "Dockerfile", []string{"serve"}, variables)
	wantAccepted(t, "Dockerfile with a DSN", []string{"serve"}, append(variables, "PETSTORE_DATABASE_DRIVER=postgres", "PETSTORE_DATABASE_DSN_FILE="))
}
