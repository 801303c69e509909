package documents

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"example.com/petstore/test/harness"
)

// deployDir contains the files for systemd, Kubernetes and Litestream.
const deployDir = "../../docs/deploy/"

// A manifest is the part of a Kubernetes object that the tests check.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct{ Name string }
	Spec       struct {
		Selector          map[string]any
		ConcurrencyPolicy string `yaml:"concurrencyPolicy"`
		Template          podTemplate
		JobTemplate       struct {
			Spec struct{ Template podTemplate }
		} `yaml:"jobTemplate"`
	}
}

type podTemplate struct {
	Metadata struct{ Labels map[string]any }
	Spec     struct {
		SecurityContext map[string]any `yaml:"securityContext"`
		Affinity        struct {
			PodAffinity struct {
				Required []struct {
					LabelSelector struct {
						MatchLabels map[string]any `yaml:"matchLabels"`
					} `yaml:"labelSelector"`
					TopologyKey string `yaml:"topologyKey"`
				} `yaml:"requiredDuringSchedulingIgnoredDuringExecution"`
			} `yaml:"podAffinity"`
		}
		Containers []container
		Volumes    []struct {
			Claim struct {
				Name string `yaml:"claimName"`
			} `yaml:"persistentVolumeClaim"`
		}
	}
}

type container struct {
	Image           string
	Args            []string
	Env             []struct{ Name, Value string }
	SecurityContext map[string]any `yaml:"securityContext"`
	ReadinessProbe  struct {
		PeriodSeconds    int `yaml:"periodSeconds"`
		FailureThreshold int `yaml:"failureThreshold"`
	} `yaml:"readinessProbe"`
}

// manifests returns the objects of a file of docs/deploy.
func manifests(t *testing.T, name string) []manifest {
	t.Helper()
	file, err := os.Open(deployDir + name)
	harness.Check(t, err)
	defer file.Close()
	var all []manifest
	for decoder := yaml.NewDecoder(file); ; {
		var m manifest
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			return all
		}
		harness.Check(t, err)
		all = append(all, m)
	}
}

// find returns the object of a kind. It fails the test if there is none.
func find(t *testing.T, all []manifest, kind string) manifest {
	t.Helper()
	i := slices.IndexFunc(all, func(m manifest) bool { return m.Kind == kind })
	if i < 0 {
		t.Fatalf("found no %s", kind)
	}
	return all[i]
}

func TestKubernetesManifestsAreValid(t *testing.T) {
	t.Parallel()
	for file, kinds := range map[string][]string{
		"kubernetes.yaml":          {"Secret", "PersistentVolumeClaim", "Job", "Deployment", "Service"},
		"kubernetes-backup.yaml":   {"PersistentVolumeClaim", "CronJob"},
		"kubernetes-postgres.yaml": {"Secret", "Job", "Deployment", "PodDisruptionBudget", "Service"},
	} {
		all := manifests(t, file)
		for _, kind := range kinds {
			find(t, all, kind)
		}
		for _, m := range all {
			if m.APIVersion == "" || !strings.HasPrefix(m.Metadata.Name, "petstore") {
				t.Errorf("%+v has no apiVersion, or its name does not start with petstore", m)
			}
			for _, c := range slices.Concat(m.Spec.Template.Spec.Containers, m.Spec.JobTemplate.Spec.Template.Spec.Containers) {
				var environ []string
				for _, variable := range c.Env {
					environ = append(environ, variable.Name+"="+variable.Value)
				}
				wantAccepted(t, m.Kind, c.Args, environ)
			}
		}
	}
}

func TestKubernetesBacksUpTheStoreOfTheDeployment(t *testing.T) {
	t.Parallel()
	service, backup := manifests(t, "kubernetes.yaml"), manifests(t, "kubernetes-backup.yaml")
	deployed := find(t, service, "Deployment").Spec.Template
	cron := find(t, backup, "CronJob").Spec
	job := cron.JobTemplate.Spec.Template
	if len(job.Spec.Containers) != 1 || len(job.Spec.Volumes) != 2 || len(job.Spec.Affinity.PodAffinity.Required) != 1 {
		t.Fatalf("got %+v, want one container, two volumes and one affinity", job.Spec)
	}
	other := job.Spec.Affinity.PodAffinity.Required[0]
	for what, pair := range map[string][2]any{
		"image":                          {deployed.Spec.Containers[0].Image, job.Spec.Containers[0].Image},
		"user":                           {deployed.Spec.SecurityContext, job.Spec.SecurityContext},
		"securityContext":                {deployed.Spec.Containers[0].SecurityContext, job.Spec.Containers[0].SecurityContext},
		"claim of the store":             {deployed.Spec.Volumes[0].Claim, job.Spec.Volumes[0].Claim},
		"claim of the backups":           {find(t, backup, "PersistentVolumeClaim").Metadata.Name, job.Spec.Volumes[1].Claim.Name},
		"labels of the node's other pod": {deployed.Metadata.Labels, other.LabelSelector.MatchLabels},
		"topologyKey":                    {"kubernetes.io/hostname", other.TopologyKey},
		"concurrencyPolicy":              {"Forbid", cron.ConcurrencyPolicy},
	} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	dsn := func(c container) string {
		return c.Env[slices.IndexFunc(c.Env, func(v struct{ Name, Value string }) bool { return v.Name == "PETSTORE_DATABASE_DSN" })].Value
	}
	if want, got := dsn(deployed.Spec.Containers[0]), dsn(job.Spec.Containers[0]); got != want {
		t.Errorf("got the store %s, want %s", got, want)
	}
	if cmp.Equal(job.Metadata.Labels, find(t, service, "Service").Spec.Selector) {
		t.Error("the Service sends requests to the pods of the backup")
	}
}

// A failover takes up to 35 s. All pods would be removed from the Service meanwhile, and
// clients would get no response.
func TestKubernetesKeepsReplicasDuringAFailover(t *testing.T) {
	t.Parallel()
	probe := find(t, manifests(t, "kubernetes-postgres.yaml"), "Deployment").Spec.Template.Spec.Containers[0].ReadinessProbe
	if seconds := probe.PeriodSeconds * probe.FailureThreshold; seconds < 40 {
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
	wantValidSettings(t, name, environ)
	wantValidCommandLine(t, args)
}

// The DSN of a PostgreSQL database contains a password, so it must be possible to name its file.
func TestDockerfileRunsPetstoreWithValidSettings(t *testing.T) {
	t.Parallel()
	dockerfile, err := os.ReadFile("../../Dockerfile")
	harness.Check(t, err)
	for _, want := range []string{"FROM scratch", "USER 65532:65532", "WORKDIR /data", "VOLUME /data", `ENTRYPOINT ["/petstore"]`, `CMD ["serve"]`} {
		if !bytes.Contains(dockerfile, []byte(want)) {
			t.Errorf("the Dockerfile does not contain %s", want)
		}
	}
	variables := regexp.MustCompile(`PETSTORE_[A-Z_]+=\S+`).FindAllString(string(dockerfile), -1)
	wantAccepted(t, "Dockerfile", []string{"serve"}, variables)
	dsn := filepath.Join(t.TempDir(), "petstore.dsn")
	harness.Check(t, os.WriteFile(dsn, []byte("postgres://petstore@db.example.com/shop"), 0o600))
	environ := append(variables, "PETSTORE_DATABASE_DRIVER=postgres", "PETSTORE_DATABASE_DSN_FILE="+dsn)
	wantValidSettings(t, "Dockerfile with a DSN", environ)
}

// wantValidSettings expects that petstore accepts environment variables.
func wantValidSettings(t *testing.T, name string, environ []string) {
	t.Helper()
	cmd := harness.Command(t.Context(), t.TempDir(), "config")
	cmd.Env = append([]string{"HOME=" + t.TempDir()}, environ...)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v: %s", name, err, output)
	}
}
