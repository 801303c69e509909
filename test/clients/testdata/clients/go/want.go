package main

import (
	"errors"
	"fmt"
	"log"
	"os"

	"example.com/till/petstore"
)

// wantStatus takes the results of a call and returns a function that expects a status and
// returns the response.
func wantStatus[R interface {
	StatusCode() int
	GetBody() []byte
}](response R, err error) func(status int) R {
	return func(status int) R {
		if err != nil {
			fail(err)
		}
		if response.StatusCode() != status {
			fail("status", response.StatusCode(), "want", status, string(response.GetBody()))
		}
		return response
	}
}

func want[T comparable](got, want T) {
	if got != want {
		fail("got", got, "want", want)
	}
}

func wantCode(err error, code string) {
	if apiError, _ := errors.AsType[petstore.Error](err); apiError.Code != code {
		fail("got", err, "want", code)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		fail(err)
	}
	return value
}

// fail prints the line of the failed check and exits with 1.
func fail(details ...any) {
	const callDepth = 3 // the caller of the function that calls fail
	_ = log.New(os.Stderr, "", log.Lshortfile).Output(callDepth, fmt.Sprintln(details...))
	os.Exit(1)
}
