import { writeSync } from 'node:fs';

const STDOUT = 1;
const STDERR = 2;
const MAX_FULL = 1000;

/** What gpg says: lines for people, lines for programs (`--status-fd`), and its output. Written at once, in this order. */
export class GpgConsole {
  constructor(
    private readonly statusFd: number | undefined,
    private readonly loggerFd = STDERR,
  ) {}

  /** A line as `--status-fd` has it (GnuPG's doc/DETAILS). Whoever closed the descriptor does not want them. */
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

/** A pipe that is full for a moment takes the rest later. */
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
