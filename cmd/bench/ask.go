package main

import (
	"embed"
	"fmt"
)

// scripts are what wrk runs, each explained at its top.
//
//go:embed lua
var scripts embed.FS

// An ask is what wrk sends: a path, or what a script makes of its arguments.
type ask struct {
	path   string
	script string
	args   []string
}

// randomPage asks for a page behind one of count ids that are step apart.
func randomPage(step, count int) ask {
	return ask{script: "random.lua", args: []string{"/v1/pets?limit=20&after=", "0", fmt.Sprint(step), fmt.Sprint(count)}}
}

func randomID(animals int) ask {
	return ask{script: "random.lua", args: []string{"/v1/pets/", "1", "1", fmt.Sprint(animals)}}
}

// writes adds an animal in so many of 100 requests; keys is "keys" or "none".
func writes(share int, keys string) ask {
	return ask{script: "write.lua", args: []string{fmt.Sprint(share), keys}}
}
