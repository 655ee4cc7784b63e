// Package api is the HTTP door: it translates requests into the verbs of package control, and nouns into the JSON of
// package client. It decides nothing and runs nothing.
//
// Routes, parameters and answers are described to huma, which serves /openapi.json from them. What huma would do in a
// way of its own is done here: bodies are read strictly (a duplicate key, an unknown key and a null are refused, with
// their place), and a Problem never repeats what was sent.
//
// The door is open on loopback only and has no sign-in yet, so each request is held against the ways by which a web
// page reaches a loopback service: a Host header that names anything but loopback is refused (DNS rebinding), a
// cross-origin request that is not a plain read is refused, and a body must say that it is JSON.
package api
