package faults

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"example.com/petstore/test/harness"
)

// A series is a number of samples at equal intervals.
type series struct {
	name   string
	values []float64
}

// A resourcePlot is the series of all resources.
type resourcePlot []series

func newPlot(names ...string) (p resourcePlot) {
	for _, name := range names {
		p = append(p, series{name: name})
	}
	return p
}

func (p resourcePlot) add(values ...float64) {
	for i, value := range values {
		p[i].values = append(p[i].values, value)
	}
}

// quarters returns the medians of the second and of the last quarter.
func (s series) quarters() (before, after float64) {
	n := len(s.values)
	return median(s.values[n/4 : n/2]), median(s.values[3*n/4:])
}

// wantFlat expects that the median of the last quarter is at most 1.25 times that of the second
// quarter, plus one. A latency depends on what else the machine does: at most twice, plus 100 ms.
func (p resourcePlot) wantFlat(t *testing.T) {
	t.Helper()
	for _, s := range p {
		before, after := s.quarters()
		limit := 1.25*before + 1
		if strings.HasSuffix(s.name, " in ms") {
			limit = 2*before + 100
		}
		if after > limit {
			t.Errorf("%s grew from %.1f to %.1f", s.name, before, after)
		}
	}
}

func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func (p resourcePlot) String() string {
	var parts []string
	for _, s := range p {
		before, after := s.quarters()
		parts = append(parts, fmt.Sprintf("%s %.1f, then %.1f", s.name, before, after))
	}
	return strings.Join(parts, "; ")
}

// save draws the series below each other, from 0 to their maximum, to an SVG file.
func (p resourcePlot) save(t *testing.T, path string, length time.Duration) {
	t.Helper()
	image := vgsvg.New(600, 120*vg.Length(len(p)))
	tiles := draw.Tiles{Rows: len(p), Cols: 1}
	for row, s := range p {
		points := make(plotter.XYs, len(s.values))
		for i, value := range s.values {
			points[i] = plotter.XY{X: length.Minutes() * float64(i+1) / float64(len(s.values)), Y: value}
		}
		line, err := plotter.NewLine(points)
		harness.Check(t, err)
		chart := plot.New()
		chart.Title.Text, chart.Y.Min = s.name, 0
		chart.Add(line)
		chart.Draw(tiles.At(draw.New(image), 0, row))
	}
	file, err := os.Create(path)
	harness.Check(t, err)
	defer file.Close()
	_, err = image.WriteTo(file)
	harness.Check(t, err)
}
