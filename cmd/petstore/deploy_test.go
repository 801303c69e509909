package main

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

	"go.yaml.in/yaml/v3"

	"example.com/petstore/config"
)

// deployDir contains the files for systemd, Kubernetes and Litestream.
const deployDir = "../../docs/deploy/"

// A manifest is the part of a Kubernetes object that the tests check.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct{ Name string }
	Spec       struct {
		Template struct {
			Spec struct{ Containers []container }
		}
	}
}

type container struct {
	Args         []string
	Env          []struct{ Name, Value string }
	Ports        []struct{ Name string }
	VolumeMounts []struct{ MountPath string } `yaml:"volumeMounts"`
}

// manifests returns the objects of docs/deploy/kubernetes.yaml.
func manifests(t *testing.T) []manifest {
	t.Helper()
	file, err := os.Open(deployDir + "kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []manifest
	for decoder := yaml.NewDecoder(file); ; {
		var m manifest
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
}

func TestKubernetesManifestsAreValid(t *testing.T) {
	t.Parallel()
	var kinds []string
	for _, m := range manifests(t) {
		if m.APIVersion == "" || !strings.HasPrefix(m.Metadata.Name, "petstore") {
			t.Errorf("%+v has no apiVersion, or its name does not start with petstore", m)
		}
		kinds = append(kinds, m.Kind)
		for _, c := range m.Spec.Template.Spec.Containers {
			var environ []string
			for _, variable := range c.Env {
				environ = append(environ, variable.Name+"="+variable.Value)
			}
			wantAccepted(t, m.Kind, c.Args, environ)
		}
	}
	for _, kind := range []string{"Secret", "PersistentVolumeClaim", "Job", "Deployment", "Service"} {
		if !slices.Contains(kinds, kind) {
			t.Errorf("found no %s", kind)
		}
	}
}

// wantAccepted expects that args are a command of petstore and that environ are valid
// settings. It replaces the files of PETSTORE_…_FILE by an empty file.
func wantAccepted(t *testing.T, name string, args, environ []string) {
	t.Helper()
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, variable := range environ {
		if key, _, _ := strings.Cut(variable, "="); strings.HasSuffix(key, "_FILE") {
			environ[i] = key + "=" + empty
		}
	}
	if _, err := config.Load(config.Options{Environ: environ}); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	root := newRoot(&invocation{stdout: contextWriter{t.Context(), io.Discard}, stderr: io.Discard}, func() {})
	command, rest, err := root.Find(args)
	if err == nil {
		err = errors.Join(command.ParseFlags(rest), command.ValidateArgs(command.Flags().Args()))
	}
	if err != nil || !command.Runnable() {
		t.Errorf("%s: %v is not a command: %v", name, args, err)
	}
}

func TestDockerfileRunsPetstoreWithValidSettings(t *testing.T) {
	t.Parallel()
	dockerfile, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"FROM scratch", "USER 65532:65532", `make static VERSION="$VERSION" COMMIT="$COMMIT"`, "ARG VERSION COMMIT", `ENTRYPOINT ["/petstore"]`, `CMD ["serve"]`} {
		if !bytes.Contains(dockerfile, []byte(want)) {
			t.Errorf("the Dockerfile does not contain %s", want)
		}
	}
	variables := regexp.MustCompile(`PETSTORE_[A-Z_]+=\S+`).FindAllString(string(dockerfile), -1)
	wantAccepted(t, "Dockerfile", []string{"serve"}, variables)
}
