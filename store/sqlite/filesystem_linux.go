package sqlite

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// remote lists file systems on which the locks of one machine are not seen by another, or not at all (PROTOCOL B20).
// The numbers are those of statfs(2).
var remote = map[uint32]string{
	0x6969:     "NFS",
	0x517b:     "SMB",
	0xff534d42: "CIFS",
	0xfe534d42: "SMB2",
	0x65735546: "FUSE",
	0x01021997: "9P",
	0x5346414f: "AFS",
	0x6b414653: "AFS",
	0x73757245: "Coda",
	0x564c:     "NCP",
	0x00c36400: "Ceph",
	0x0bd00bd0: "Lustre",
	0x47504653: "GPFS",
	0x19830326: "BeeGFS",
	0x786f4256: "a VirtualBox shared folder",
	0xbacbacbc: "a VMware shared folder",
	0x7c7c6673: "a Parallels shared folder",
}

func checkFileSystem(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("look at the file system of %s: %w (create the directory first)", dir, err)
	}
	return checkMagic(dir, uint32(st.Type))
}

func checkMagic(dir string, magic uint32) error {
	if name, ok := remote[magic]; ok {
		return fmt.Errorf("%s is on %s, where file locks cannot be relied on and the database would be damaged: put it on a disk of this machine, such as /var/lib/belfry/belfry.db",
			dir, name)
	}
	return nil
}
