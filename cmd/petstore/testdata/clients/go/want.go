package main

import (
	"errors"
	"fmt"
	"log"
	"os"

	"example.com/till/petstore"
)

// answered expects an answer with a status.
func answered[A interface {
	StatusCode() int
	GetBody() []byte
}](answer A, err error) func(status int) A {
	return func(status int) A {
		if err != nil {
			fail(err)
		}
		if answer.StatusCode() != status {
			fail("status", answer.StatusCode(), "want", status, string(answer.GetBody()))
		}
		return answer
	}
}

func want[T comparable](got, want T) {
	if got != want {
		fail("got", got, "want", want)
	}
}

func wantCode(err error, code string) {
	if told, _ := errors.AsType[petstore.Error](err); told.Code != code {
		fail("got", err, "want", code)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		fail(err)
	}
	return value
}

// fail ends the program, telling the line of the call.
func fail(about ...any) {
	const caller = 3 // above whoever calls it here
	_ = log.New(os.Stderr, "", log.Lshortfile).Output(caller, fmt.Sprintln(about...))
	os.Exit(1)
}
