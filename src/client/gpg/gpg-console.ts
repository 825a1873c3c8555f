import { writeSync } from 'node:fs';

const STDOUT = 1;
const STDERR = 2;
const MAX_FULL = 1000;

/** GpgConsole writes gpg's messages for users, status lines for programs (`--status-fd`), and output. Writes are synchronous and in order. */
export class GpgConsole {
  constructor(
    private readonly statusFd: number | undefined,
    private readonly loggerFd = STDERR,
  ) {}

  /** Writes a `--status-fd` line (GnuPG's doc/DETAILS). Ignores the error if the reader has closed the descriptor. */
  status(line: string): void {
    if (this.statusFd === undefined) return;
    try {
      writeWhole(this.statusFd, Buffer.from(`[GNUPG:] ${line}\n`));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
    }
  }

  note(line: string): void {
    writeWhole(this.loggerFd, Buffer.from(`gpg: ${line}\n`));
  }

  out(bytes: Buffer | string, fd = STDOUT): void {
    writeWhole(fd, Buffer.from(bytes));
  }
}

/** Writes all bytes, and retries while a pipe is full. */
function writeWhole(fd: number, bytes: Buffer): void {
  let full = 0;
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(fd, bytes, at);
      full = 0;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || (full += 1) > MAX_FULL) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}
