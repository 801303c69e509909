package main

import (
	"fmt"
	"io"
	"text/template"
)

// The measures of the plot in pixels.
const (
	barsFrom  = 350
	barsWidth = 320
	valuesTo  = 370 // behind the longest bar
	rowHeight = 26
	textRise  = 13 // from the top of a bar to the base line of its text
)

// A panel is the bars of a group, on one scale that starts at 0.
type panel struct {
	Title string
	Y     int
	Bars  []bar
}

// A bar is a ratio, and the marks of its targets, 0 where none is set.
type bar struct {
	Name, Value         string
	Y, TextY            int
	Width, AtLeast, Aim float64
	Missed              bool
}

// plot draws the ratios as bars.
func (r report) plot(out io.Writer) error {
	image, err := template.ParseFS(templates, "templates/benchmarks.svg.tmpl")
	if err != nil {
		return err
	}
	y := 20
	var panels []panel
	for _, group := range []group{toGin, toGORM, toItself} {
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
		if c.group == of {
			largest = max(largest, median(c.ratios()), c.atLeast, c.aim)
		}
	}
	for _, c := range r.comparisons {
		if c.group != of {
			continue
		}
		y += rowHeight
		ratio, scale := median(c.ratios()), barsWidth/largest
		p.Bars = append(p.Bars, bar{
			Name: c.name, Value: number(ratio, ""), Y: y, TextY: y + textRise,
			Width: ratio * scale, AtLeast: c.atLeast * scale, Aim: c.aim * scale, Missed: ratio < c.atLeast,
		})
	}
	return p
}
