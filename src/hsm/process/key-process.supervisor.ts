import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Logger } from '@nestjs/common';
import { type Config, ConfigError, readPin } from '../../platform/config/config.js';
import { SETTINGS } from '../../platform/config/settings.js';
import { backOff, jittered } from '../../platform/work/claim.js';
import type { ReplyMessage, FromKeyProcess, LastMessage, ToKeyProcess } from './key-process-messages.js';
import type { VaultHealth } from '../key-vault.js';
import { PinWatch } from './pin-watch.js';
import type { RefusedPins } from './refused-pins.repository.js';

/** The key process file is next to this file and has the same extension, compiled or as source. */
const OWN_FILE = fileURLToPath(import.meta.url);
const ENTRY = fileURLToPath(new URL(`./key-process${extname(OWN_FILE)}`, import.meta.url));
/** Time limit for loading Node, opening the token and logging in. The limit is generous, because a booting machine is busy. */
const START_LIMIT_MS = 15_000;
/** Milliseconds by which the event loops on both sides may lag before silence is treated as a hang. */
const SILENCE_SLACK_MS = 1000;
const WATCH_EVERY_MS = 250;
/** A process that ran for at least this long is replaced immediately; otherwise, the replacement waits for the backoff. */
const PROVEN_MS = 2000;
const BACKOFF_MS = 50;
/** If a process has started successfully before, the HSM evidently works, so callers can wait for the next process. Otherwise, callers are rejected. */
const MAX_BACKOFF_MS = { wasUp: 250, neverUp: 2000 };
const LAST_WORDS_MS = 200;

export interface SupervisorListener {
  ready(): void;
  results(block: Buffer): void;
  onReply(message: ReplyMessage): void;
  /** Called after the key process has ended. Its unfinished orders are lost. */
  lost(why: LastMessage['why'], wasUp: boolean): void;
}

/**
 * KeyProcessSupervisor keeps one key process running: it starts, monitors, kills and replaces the process. Only a rejected PIN stops the restarts, until the
 * PIN changes or an operator allows a retry.
 */
export class KeyProcessSupervisor {
  private readonly log = new Logger('KeyVault');
  private child?: ChildProcess;
  private state: 'starting' | 'up' | 'waiting' | 'halted' | 'stopped' = 'stopped';
  private detail = 'the key process was not started';
  private respawns = 0;
  /** PIN of the current login attempt, stored until the token has accepted or rejected the PIN. */
  private refusable?: string;
  private failures = 0;
  private startedAt = 0;
  private lastMessageAt = 0;
  private timer?: NodeJS.Timeout;
  private watch?: NodeJS.Timeout;
  private readonly pinWatch: PinWatch;

  constructor(
    private readonly config: Config,
    private readonly listener: SupervisorListener,
    pins: RefusedPins | undefined,
  ) {
    this.pinWatch = new PinWatch(() => readPin(config), pins);
  }

  /** Starts the key process. Does nothing if the supervisor was already started. */
  start(): void {
    if (this.watch !== undefined) return;
    this.watch = setInterval(() => this.checkSilence(), WATCH_EVERY_MS);
    this.spawn();
  }

  get up(): boolean {
    return this.state === 'up';
  }

  /** True if no further start will be attempted, as far as is currently known. */
  get final(): boolean {
    return this.state === 'halted' || this.state === 'stopped';
  }

  health(): Omit<VaultHealth, 'waiting'> {
    return { up: this.up, detail: this.detail, pid: this.child?.pid, respawns: this.respawns };
  }

  send(message: ToKeyProcess): void {
    this.child?.send(message);
  }

  stop(): void {
    clearInterval(this.watch);
    clearTimeout(this.timer);
    this.pinWatch.stop();
    this.state = 'stopped';
    this.detail = 'the service is stopping';
    this.release()?.kill('SIGKILL');
  }

  private spawn(): void {
    this.state = 'starting';
    this.startedAt = this.lastMessageAt = performance.now();
    let pin: string;
    try {
      // The PIN is read for each start, so that the PIN need not be kept in memory.
      pin = readPin(this.config);
    } catch (error) {
      const fault = error instanceof ConfigError ? error.faults[0] : undefined;
      this.lose('fatal', fault ?? 'the PIN file cannot be read');
      return;
    }
    void this.pinWatch.isRefused(pin).then((isRefused) => {
      if (this.state !== 'starting') return;
      if (isRefused) {
        this.halt(pin, 'the token refused this PIN in another process');
        this.listener.lost('login', false);
      } else this.launch(pin);
    });
  }

  private launch(pin: string): void {
    const child = this.forkChild();
    this.child = child;
    this.refusable = pin;
    child.on('message', (message) => {
      if (child === this.child) this.readSafely(message as FromKeyProcess);
    });
    child.on('error', (error) => this.lose('fatal', `it could not be started or reached: ${error.message}`, child));
    child.on('exit', (code, signal) => this.exited(child, signal ?? `status ${code}`));
    const { pkcs11Library: library, pkcs11TokenLabel: tokenLabel } = this.config;
    const { pkcs11Sessions: sessions, pkcs11DeadlineMs: deadlineMs } = this.config;
    child.send({ kind: 'start', library, tokenLabel, pin, sessions, deadlineMs } satisfies ToKeyProcess);
  }

  /**
   * Starts the key process through env(1), which sets the size of libuv's thread pool, because the size can only be set at process start. The pool has exactly
   * one thread for each session, because each call blocks a thread and idle threads cause wake-ups. env(1) also removes the settings of this service, which
   * include secrets that the HSM library must not see.
   */
  private forkChild(): ChildProcess {
    const withheld = Object.keys(SETTINGS).flatMap((name) => ['-u', name]);
    const threads = `UV_THREADPOOL_SIZE=${this.config.pkcs11Sessions}`;
    return fork(ENTRY, {
      execPath: 'env',
      execArgv: [...withheld, threads, process.execPath],
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
  }

  /** Processes a message. A key process that sends an invalid message is treated as failed. Invalid messages must not make this process fail. */
  private readSafely(message: FromKeyProcess): void {
    try {
      this.read(message);
    } catch (error) {
      this.lose('fatal', `it sent an unreadable message: ${error instanceof Error ? error.message : 'unknown'}`);
    }
  }

  private read(message: FromKeyProcess): void {
    this.lastMessageAt = performance.now();
    if (message instanceof Uint8Array) {
      this.listener.results(bufferOf(message));
      return;
    }
    switch (message.kind) {
      case 'alive':
        return;
      case 'reply':
        this.listener.onReply(message);
        return;
      case 'last':
        this.lose(message.why, message.detail, this.child, message);
        return;
      case 'ready':
        this.state = 'up';
        if (this.refusable !== undefined) this.pinWatch.accepted(this.refusable);
        this.refusable = undefined;
        this.detail = `token "${message.tokenLabel}", ${message.sessions} sessions`;
        this.log.log(`The key process ${this.child?.pid} is up: ${this.detail}`);
        this.listener.ready();
    }
  }

  /** Handles the exit of the process after the channel has closed, because messages that the process sent before its exit must still be read. */
  private exited(child: ChildProcess, how: string): void {
    const lose = (): void => this.lose('fatal', `it ended with ${how}`, child);
    if (!child.connected) lose();
    else {
      const timer = setTimeout(lose, LAST_WORDS_MS);
      child.once('disconnect', () => {
        clearTimeout(timer);
        lose();
      });
    }
  }

  private checkSilence(): void {
    const limit = this.state === 'up' ? this.config.pkcs11DeadlineMs + SILENCE_SLACK_MS : START_LIMIT_MS;
    const silent = (): boolean => this.child !== undefined && performance.now() - this.lastMessageAt > limit;
    if (!silent()) return;
    // If this process itself stalled, messages of the key process are read in the next iteration of the event loop.
    const { child } = this;
    setImmediate(() => silent() && this.lose('stuck', `it did not respond for ${limit} ms`, child));
  }

  /** Kills the key process unless it has exited, and schedules the next start. */
  private lose(why: LastMessage['why'], detail: string, child = this.child, last?: LastMessage): void {
    if (child !== this.child || this.final) return;
    const wasUp = this.up;
    const proven = wasUp && performance.now() - this.startedAt > PROVEN_MS;
    this.failures = proven ? 0 : this.failures + 1;
    this.release()?.kill('SIGKILL');
    const news = wasUp || this.detail !== detail;
    this.detail = detail;
    if (why === 'login') this.halt(this.refusable ?? '', detail);
    else this.respawnAfter(this.backoff(wasUp ? MAX_BACKOFF_MS.wasUp : MAX_BACKOFF_MS.neverUp), news);
    // Results are delivered last, because the receiver of a result may send the next order immediately.
    if (last) this.listener.results(bufferOf(last.results));
    if (last?.reply) this.listener.onReply(last.reply);
    this.listener.lost(why, wasUp);
  }

  /**
   * Stops the restarts after a rejected PIN. A token locks its PIN after a few wrong attempts, so the same PIN is not tried again until an operator
   * intervenes.
   */
  private halt(pin: string, detail: string): void {
    this.state = 'halted';
    this.refusable = undefined;
    this.detail = `${detail}; this PIN is not tried again: correct the file ${this.config.pkcs11PinFile}, or run sealwright-admin retry-pin if the PIN of the token was changed to this PIN`;
    this.log.error(`The key process cannot log in: ${this.detail}`);
    void this.pinWatch.begin(pin, () => {
      if (this.state !== 'halted') return;
      this.log.log('The PIN has changed. Trying once more');
      this.spawn();
    });
  }

  private respawnAfter(delayMs: number, news: boolean): void {
    this.state = delayMs === 0 ? 'starting' : 'waiting';
    if (news) this.log.error(`The key process is down: ${this.detail}; restarting in ${Math.round(delayMs)} ms`);
    this.timer = setTimeout(() => {
      this.respawns += 1;
      this.spawn();
    }, delayMs);
  }

  /**
   * Returns the delay before the next start. There is no delay after the first failure. Each later failure doubles the delay. Jitter prevents several services
   * from retrying at the same time.
   */
  private backoff(longestMs: number): number {
    if (this.failures < 2) return 0;
    return jittered(backOff(this.failures - 1, BACKOFF_MS, longestMs));
  }

  private release(): ChildProcess | undefined {
    const { child } = this;
    this.child = undefined;
    return child;
  }
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
