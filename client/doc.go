// Package client talks to a Belfry over its HTTP API, and holds the JSON that goes over the wire: every key of the
// API's answers is a field here, and both ends use the same types.
//
// Words of closed lists (statuses, kinds, reasons) are strings, because a newer server may know more of them: treat
// one that you do not know as what it is called. Instants are RFC 3339 text in UTC (Time).
package client
