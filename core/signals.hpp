// Signals, polled. SIGINT, SIGTERM and SIGHUP (a terminal that was closed) ask to save and stop, and a second SIGINT
// ends the program at once with 130; SIGUSR1 asks to save and continue. A handler sets a flag and nothing else.
#pragma once

namespace attend::signals {

// Handles these signals from now on, but for a SIGHUP that is ignored (nohup). Programs that do not call it keep the
// system's behaviour.
void install();

// Whether SIGINT, SIGTERM or SIGHUP came. Loops that can save poll it, and throw Interrupted when they have saved.
bool stop_requested();

// Whether SIGUSR1 came since the last call.
bool take_save_request();

}  // namespace attend::signals
