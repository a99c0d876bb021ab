// Signals, polled. SIGINT, SIGTERM and SIGHUP (a closed terminal) request to save and stop; a SIGINT after that ends
// the program at once with exit code 130. SIGUSR1 requests to save and continue.
#pragma once

namespace attend::signals {

// Installs the handlers, except for a SIGHUP that is ignored (nohup).
void install();

// True after SIGINT, SIGTERM or SIGHUP. Loops that can save poll it, save, and throw Interrupted; others call
// throw_if_stopped(), which throws it with this message.
bool stop_requested();
void throw_if_stopped(const char* message);

// True if SIGUSR1 arrived since the last call.
bool take_save_request();

}  // namespace attend::signals
