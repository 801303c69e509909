package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"hash/maphash"
	"io"
	"io/fs"
	"math"
	"os"

	"example.com/petstore/delivery/file"
	"example.com/petstore/domain"
)

// openInput opens the file to import, which may be read more than once. Standard input, or
// a path that is not a regular file, is copied to a temporary file without a name. openInput
// returns when ctx ends, also while it waits for data.
func openInput(ctx context.Context, path string, stdin io.Reader) (*os.File, error) {
	var input *os.File
	done := make(chan error, 1)
	go func() {
		var err error
		input, err = openOrCopy(path, stdin)
		done <- err
	}()
	select {
	case err := <-done:
		return input, err
	case <-ctx.Done():
		return nil, errors.New("interrupted: this run stored nothing")
	}
}

func openOrCopy(path string, stdin io.Reader) (*os.File, error) {
	if path == stdio {
		return copyToTemp(stdin)
	}
	input, err := os.Open(path) //nolint:gosec // the operator names the file
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s: correct the path", path)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("permission denied: let this user read %s", path)
	case err != nil:
		return nil, err
	}
	info, err := input.Stat()
	if err == nil && info.Mode().IsRegular() {
		return input, nil
	}
	defer input.Close()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a folder: name a file", path)
	}
	if err != nil {
		return nil, err
	}
	return copyToTemp(input)
}

// copyToTemp copies all data to a temporary file without a name.
func copyToTemp(from io.Reader) (_ *os.File, err error) {
	temp, err := os.CreateTemp("", "petstore-import-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = temp.Close()
		}
	}()
	if err := os.Remove(temp.Name()); err != nil {
		return nil, err
	}
	if _, err := io.Copy(temp, from); err != nil {
		return nil, fmt.Errorf("copy the input to a temporary file: %w; the environment variable TMPDIR names another folder", err)
	}
	return temp, nil
}

// A pass reads a file once, from its beginning to its end, and computes its digest and size.
type pass struct {
	rows   *file.Reader
	in     io.Reader // what rows reads
	hash   hash.Hash
	size   int64       // in bytes, of what was read
	onRead func(n int) // called with the number of bytes of each read
}

func newPass(input io.ReaderAt, format file.Format, onRead func(n int)) *pass {
	p := &pass{hash: sha256.New(), onRead: onRead}
	p.in = io.TeeReader(io.NewSectionReader(input, 0, math.MaxInt64), p)
	p.rows = file.NewReader(p.in, format)
	return p
}

// Write implements io.Writer for the bytes that were read.
func (p *pass) Write(read []byte) (int, error) {
	p.size += int64(len(read))
	p.onRead(len(read))
	return p.hash.Write(read)
}

// each calls fn with each row until fn returns an error, which it returns, or ctx ends.
func (p *pass) each(ctx context.Context, fn func(file.Row) error) error {
	for {
		row, err := p.rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = fn(row)
		}
		if err != nil {
			return err
		}
	}
}

// digest reads the rest of the file and returns the digest of all of it.
func (p *pass) digest() (digest domain.FileDigest, err error) {
	_, err = io.Copy(io.Discard, p.in)
	p.hash.Sum(digest[:0])
	return digest, err
}

// A petsHash is a hash of animals in their order.
type petsHash struct {
	seed maphash.Seed
	sum  uint64
}

func (h *petsHash) add(pet domain.Pet) {
	h.sum = maphash.Comparable(h.seed, struct {
		before uint64
		pet    domain.Pet
	}{h.sum, pet})
}
