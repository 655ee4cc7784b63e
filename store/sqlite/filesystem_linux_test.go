package sqlite

import (
	"strings"
	"testing"
)

// PROTOCOL B20: on a network file system SQLite's locks do not hold, and the file is damaged sooner or later. The
// numbers are from statfs(2).
func TestNetworkFileSystemsAreRefusedWithARemedy(t *testing.T) {
	t.Parallel()
	for magic, name := range map[uint32]string{0x6969: "NFS", 0xff534d42: "CIFS", 0xfe534d42: "SMB2", 0x65735546: "FUSE", 0x01021997: "9P"} {
		err := checkMagic("/srv/share", magic)
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "disk of this machine") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for magic, name := range map[uint32]string{0xef53: "ext4", 0x58465342: "XFS", 0x9123683e: "Btrfs", 0x01021994: "tmpfs", 0x794c7630: "overlay"} {
		if err := checkMagic("/var/lib", magic); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
