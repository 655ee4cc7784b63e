// Package manifest reads files that declare schedules: YAML of one or several documents, and JSON.
//
// A file is taken whole or not at all. Everything that is wrong with it is collected first, each problem with its place,
// the path of the key, what is allowed and, where a word comes near, what was probably meant. Nothing is guessed: an
// unknown key, a key given twice, a number where a text belongs and a key that only a later version knows are refused.
// A key whose value is null is a key that was not written.
//
// The package walks the nodes of the document and never decodes into Go structs by reflection, since places and
// duplicates would be lost. JSON is turned into the same nodes by a reader of its own: JSON is not quite a part of
// YAML (an escaped surrogate pair is an error there).
//
// Limits: MaxBytes a file, MaxDocuments documents, maxAliases uses of an alias in a document, maxDepth levels
// of JSON (the YAML parser has its own limit of 10,000), MaxProblems problems reported.
//
// It also holds the types that every reader of files shares (Item, Place, Problem, Error); package crontab uses them.
package manifest
