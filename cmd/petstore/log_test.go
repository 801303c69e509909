package main

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"

	"example.com/petstore/config"
)

// A disk is full at first, and has room from the second write on.
type disk struct {
	writes int
	text   strings.Builder
}

func (d *disk) Write(p []byte) (int, error) {
	if d.writes++; d.writes == 1 {
		return 0, errors.New("no space left on device")
	}
	return d.text.Write(p)
}

func TestLogGoesOnWhenThereIsRoomAgain(t *testing.T) {
	t.Parallel()
	full := &disk{}
	log, flush, err := newLog(config.Log{Level: "info", Format: "json"}, full)
	if err != nil {
		t.Fatal(err)
	}
	log.Info("lost")
	if err := log.Sync(); err != nil {
		t.Errorf("what cannot be written is an error: %v", err)
	}
	log.Info("kept", zap.String("shop", "pets"))
	log.Debug("not told")
	flush()
	text := full.text.String()
	if strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, `{"level":"info","time":"2`) || !strings.HasSuffix(text, "Z\",\"msg\":\"kept\",\"shop\":\"pets\"}\n") {
		t.Errorf("got the log %q", text)
	}
}

func TestServerWithoutReaderOfItsLogGoesOn(t *testing.T) {
	t.Parallel()
	cmd := command(t.Context(), t.TempDir(), "serve", "--first-key")
	s := startWithLog(t, cmd, deafPipe(t))
	for range 3 {
		if status, answer, err := s.do(t.Context(), http.MethodGet, "/v1/pets", ""); err != nil || status != http.StatusOK {
			t.Fatalf("%d %s %v", status, answer, err)
		}
		time.Sleep(2 * flushInterval) // the line of the request is written meanwhile
	}
}

// A visitor appends itself as it is marshalled.
type visitor struct{ zapcore.ObjectMarshalerFunc }

func (visitor) AppendJSON(to *buffer.Buffer) { to.AppendString(`"name":"Rex"`) }

func TestLineThatAppendsItselfIsAsAnyOther(t *testing.T) {
	t.Parallel()
	marshal := zapcore.ObjectMarshalerFunc(func(to zapcore.ObjectEncoder) error {
		to.AddString("name", "Rex")
		return nil
	})
	var text strings.Builder
	log, flush, err := newLog(config.Log{Level: "info", Format: "json"}, &text)
	if err != nil {
		t.Fatal(err)
	}
	log.Warn("came", zap.Inline(marshal))
	log.Warn("came", zap.Inline(visitor{marshal}))
	log.With(zap.String("shop", "pets")).Warn("came", zap.Inline(marshal))
	log.With(zap.String("shop", "pets")).Warn("came", zap.Inline(visitor{marshal}))
	flush()
	var lines []string
	for line := range strings.Lines(text.String()) {
		before, after, ok := strings.Cut(line, `"time":"20`)
		_, after, quoted := strings.Cut(after, `Z"`)
		if !ok || !quoted {
			t.Fatalf("a line without its time: %s", line)
		}
		lines = append(lines, before+after)
	}
	plain, shop := `{"level":"warn",,"msg":"came","name":"Rex"}`+"\n", `{"level":"warn",,"msg":"came","shop":"pets","name":"Rex"}`+"\n"
	if diff := cmp.Diff([]string{plain, plain, shop, shop}, lines); diff != "" {
		t.Errorf("the log (-want +got)\n%s", diff)
	}
}
