package main

import (
	"errors"
	"strings"
	"testing"

	"go.uber.org/zap"

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
