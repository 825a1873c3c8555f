import { type BeforeApplicationShutdown, Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Config } from '../../config/config.js';
import { ArrivingBodies } from '../bodies/arriving-bodies.js';

/** Time within which an active client sends another request, whose response announces that the connection closes. */
const LINGER_MS = 3000;
const LOOK_EVERY_MS = 50;
/** Maximum time for a new connection to send the head of its first request during shutdown. */
const HEAD_WITHIN_MS = 1000;
/** Pace for bodies that begin to arrive after draining. */
const LAST_PACE = { graceMs: 1000, bytesPerSecond: Number.POSITIVE_INFINITY };

/**
 * GracefulShutdown drains HTTP connections when the process stops. Requests are still served, but each response closes its connection, and readiness fails,
 * so that load balancers use other instances. For SVC_DRAIN_SECONDS, the server stays open even without connections, because a load balancer keeps sending
 * requests until its next check. Afterwards, the server closes as soon as no connection is left, but waits at most until three seconds after the shutdown
 * began. Without this wait, the next request of a client with a keep-alive connection would fail. When the server closes, bodies that are still arriving
 * are rejected, because some bodies take minutes. Connections without a request are closed as well: Node.js closes connections that have had a request, but
 * waits indefinitely for connections that port checks, load balancers and browsers opened in advance.
 */
@Injectable()
export class GracefulShutdown implements OnModuleDestroy, BeforeApplicationShutdown {
  private server: Server | undefined;
  private started = false;
  /** Connections without a request in progress, with the time at which each became idle. */
  private readonly waiting = new Map<Socket, number>();

  constructor(
    private readonly bodies: ArrivingBodies,
    private readonly config: Config,
  ) {}

  /** Whether the shutdown has begun. */
  get begun(): boolean {
    return this.started;
  }

  /** Sets the server to drain. Not called in processes that do not serve HTTP. */
  serves(server: Server): void {
    this.server = server;
    const waits = (socket: Socket) => !socket.destroyed && this.waiting.set(socket, performance.now());
    server.on('connection', (socket) => {
      waits(socket);
      socket.once('close', () => this.waiting.delete(socket));
    });
    server.on('request', ({ socket }, response) => {
      this.waiting.delete(socket);
      response.once('close', () => waits(socket));
    });
  }

  onModuleDestroy(): void {
    this.started = true;
  }

  async beforeApplicationShutdown(): Promise<void> {
    if (this.server === undefined) return;
    const connections = promisify(this.server.getConnections.bind(this.server));
    const drained = performance.now() + this.config.drainSeconds * 1000;
    const until = Math.max(drained, performance.now() + LINGER_MS);
    // Waits at least once even without connections, because a load balancer may be about to send a request.
    do await sleep(LOOK_EVERY_MS);
    while (performance.now() < drained || (performance.now() < until && (await connections()) > 0));
    this.bodies.allow(LAST_PACE);
    this.bodies.refuse();
    this.closeWaiting();
    setInterval(() => this.closeWaiting(), LOOK_EVERY_MS).unref();
  }

  private closeWaiting(): void {
    const before = performance.now() - HEAD_WITHIN_MS;
    for (const [socket, since] of this.waiting) if (since < before) socket.destroy();
  }
}
