package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/belfryhq/belfry/client"
	"github.com/belfryhq/belfry/internal/config"
)

// connect finds the server: the one that was named, or the one that wrote its address into the state directory.
func (e *env) connect() (*client.Client, error) {
	server := e.common.server
	if server == "" {
		found, err := e.address()
		if err != nil {
			return nil, err
		}
		server = found
	}
	c, err := client.New(server, client.Options{UserAgent: "belfry-cli"})
	if err != nil {
		return nil, usage("", "--server: %v", err)
	}
	return c, nil
}

// maxAddress bounds the address file.
const maxAddress = 1 << 10

// address reads what serve wrote. The state directory is the environment's, as serve would find it.
func (e *env) address() (string, error) {
	c := config.Default(e.getenv)
	if dir := e.getenv(config.Variable("state_dir")); dir != "" {
		c.StateDir = dir
	}
	text, err := readAddress(c.AddressFile())
	if errors.Is(err, os.ErrNotExist) {
		return "", &failure{code: exitUnreachable, doing: "find the server", try: "belfry serve --file crontab",
			cause: &client.Unreachable{Server: c.AddressFile(), Cause: errors.New("no such file, so no server runs here; or name one with --server")}}
	}
	if err != nil {
		return "", &failure{code: exitUnreachable, doing: "find the server", cause: fmt.Errorf("read %s: %w", c.AddressFile(), err)}
	}
	return strings.TrimSpace(text), nil
}

func readAddress(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read from
	text, err := io.ReadAll(io.LimitReader(f, maxAddress+1))
	if err == nil && len(text) > maxAddress {
		err = fmt.Errorf("it is longer than %d bytes and so no address", maxAddress)
	}
	return string(text), err
}
