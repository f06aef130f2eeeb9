"""Every decision of Feedline, as pure code: no file, socket, clock, environment or subprocess is touched in this
package."""
