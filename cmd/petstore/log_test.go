package main

import (
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"

	"example.com/petstore/config"
)

// A disk is full until it has refused a write.
type disk struct {
	logs
	refused atomic.Int64
}

func (d *disk) Write(p []byte) (int, error) {
	if d.refused.Add(1) == 1 {
		n, _ := d.logs.Write(p[:len(p)/2])
		return n, syscall.ENOSPC
	}
	return d.logs.Write(p)
}

func TestLogGoesOnWhenThereIsRoomAgain(t *testing.T) {
	t.Parallel()
	full := &disk{}
	log, closeLog, err := newLog(config.Log{Level: "info", Format: "json"}, full, measureLog(newRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	log.Info("early")
	until(t, "a write has failed", func() bool { return full.refused.Load() > 0 })
	log.Info("late", zap.String("shop", "pets"))
	log.Debug("not told")
	closeLog()
	form := regexp.MustCompile(`^{"level":"info","time":"2[^"]+Z","msg":"early"}\n{"level":"info","time":"2[^"]+Z","msg":"late","shop":"pets"}\n$`)
	if text := full.String(); !form.MatchString(text) {
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
	log, closeLog, err := newLog(config.Log{Level: "info", Format: "json"}, &text, measureLog(newRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	log.Warn("came", zap.Inline(marshal))
	log.Warn("came", zap.Inline(visitor{marshal}))
	log.With(zap.String("shop", "pets")).Warn("came", zap.Inline(marshal))
	log.With(zap.String("shop", "pets")).Warn("came", zap.Inline(visitor{marshal}))
	closeLog()
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
