import { connect, type Socket } from 'node:net';

const CALLERS = 100;
const EVERY_MS = 1000;

/** Clients that begin a request and send one byte of its headers per second. */
class SlowCallers {
  private sockets: Socket[] = [];
  private timer: NodeJS.Timeout | undefined;
  /** Number of connections closed by the service. */
  turnedAway = 0;

  open(url: string): void {
    const { hostname, port } = new URL(url);
    this.sockets = Array.from({ length: CALLERS }, () => {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => undefined);
      socket.once('close', () => (this.turnedAway += 1));
      socket.resume().write('GET /api/v1/sign/requests HTTP/1.1\r\nhost: localhost\r\nx-slow: ');
      return socket;
    });
    this.timer = setInterval(() => {
      for (const socket of this.sockets) if (socket.writable) socket.write('x');
    }, EVERY_MS);
  }

  close(): void {
    clearInterval(this.timer);
    for (const socket of this.sockets.splice(0)) socket.destroy();
  }
}

export const slowCallers = new SlowCallers();
