package main

import (
	"fmt"
	"io"
	"text/template"
)

// The sizes of the plot in pixels.
const (
	barsFrom  = 390
	barsWidth = 320
	valuesTo  = 370 // after the longest bar
	rowHeight = 26
	textRise  = 13 // from the top of a bar to the baseline of its text
)

// A panel is the bars of a group on a common scale that starts at 0.
type panel struct {
	Title string
	Y     int
	Bars  []bar
}

// A bar is a ratio and the marks of what is required and of the goal, 0 for none.
type bar struct {
	Name, Value           string
	Y, TextY              int
	Width, Required, Goal float64
	Missed                bool
}

// plot draws the ratios of the rates as bars.
func (r report) plot(out io.Writer) error {
	image, err := template.ParseFS(templates, "templates/benchmarks.svg.tmpl")
	if err != nil {
		return err
	}
	y := 20
	var panels []panel
	for _, group := range []group{toGin, toGORM, toItself, toSQLite, toOne} {
		p := r.panel(group, y)
		if len(p.Bars) > 0 {
			panels = append(panels, p)
			y += rowHeight * (len(p.Bars) + 2)
		}
	}
	return image.Execute(out, map[string]any{"Height": y, "Panels": panels, "From": barsFrom, "Values": valuesTo})
}

func (r report) panel(of group, y int) panel {
	p := panel{Title: fmt.Sprintf("1 is %s", of), Y: y + textRise}
	largest := 0.0
	for _, c := range r.comparisons {
		if c.group == of && !c.halfRate {
			largest = max(largest, median(c.ratios()), c.required, c.goal)
		}
	}
	for _, c := range r.comparisons {
		if c.group != of || c.halfRate {
			continue
		}
		y += rowHeight
		ratio, scale := median(c.ratios()), barsWidth/largest
		p.Bars = append(p.Bars, bar{
			Name: c.name, Value: number(ratio, ""), Y: y, TextY: y + textRise,
			Width: ratio * scale, Required: c.required * scale, Goal: c.goal * scale, Missed: ratio < c.required,
		})
	}
	return p
}
