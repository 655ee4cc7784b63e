//go:build !linux

package sqlite

// checkFileSystem knows no portable way to tell a network file system; the documentation says not to use one.
func checkFileSystem(string) error { return nil }
