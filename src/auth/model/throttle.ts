import { Injectable } from '@nestjs/common';
import { createHmac, type KeyObject } from 'node:crypto';
import { Column, DataSource, Entity, Index, PrimaryColumn } from 'typeorm';
import { Config } from '../../platform/config/config.js';
import { Problem } from '../../platform/errors/problem.js';
import { derivedKeys } from '../../platform/sealing/derived-keys.js';
import { Background } from '../../platform/work/background.js';

/** AttemptCount counts recent attempts under one rule. The key is a keyed hash, because the typed text must not be stored. */
@Entity('attempt_count')
@Index('attempt_count_updated', ['updatedAt'])
export class AttemptCount {
  @PrimaryColumn('bytea')
  key: Buffer;

  @Column('int')
  attempts: number;

  @Column('timestamptz')
  blockedUntil: Date;

  @Column('timestamptz')
  updatedAt: Date;
}

interface Rule {
  /** Number of attempts that are allowed without a wait. */
  readonly free: number;
  /** Maximum wait, in seconds. The wait doubles with every attempt beyond the free attempts. */
  readonly longest: number;
}

/**
 * Limits per user and IP address are strict. Limits per user are lenient, so that an attacker cannot lock a user out. Limits per IP address are high, because
 * many users may share an address. An IPv6 address counts as its /64 network (`networkOf`).
 */
const RULES = {
  'sign-in person at address': { free: 10, longest: 900 },
  'sign-in person': { free: 50, longest: 60 },
  'sign-in address': { free: 200, longest: 900 },
  'registration address': { free: 100, longest: 900 },
  'reset mail to person': { free: 3, longest: 900 },
  'reset mail from address': { free: 20, longest: 900 },
  'second factor of person': { free: 10, longest: 900 },
  'user code by person': { free: 10, longest: 900 },
  'device flow from network': { free: 100, longest: 900 },
  'sign-in elsewhere from network': { free: 200, longest: 900 },
  'SAML message from network': { free: 200, longest: 900 },
  'logout message from network': { free: 100, longest: 900 },
  'logout token of provider': { free: 1000, longest: 60 },
} as const satisfies Record<string, Rule>;

export type ThrottleRule = keyof typeof RULES;

export interface ThrottledAttempt {
  readonly rule: ThrottleRule;
  /** The account or network: any string, even if no such account exists. */
  readonly subject: string;
}

/** Time after which attempts are forgotten, in seconds. */
const MEMORY_SECONDS = 900;
/** OWN_SHARE multiplies the free attempts in the count that a process keeps in memory, because a success in another process does not reset that count. */
const OWN_SHARE = 2;
const MAX_REMEMBERED = 100_000;

interface OwnCount {
  attempts: number;
  /** Milliseconds since the epoch. */
  blockedUntil: number;
  updatedAt: number;
}

/**
 * Throttle slows down guessing across all processes. An attempt is counted in one statement before its outcome is known, so that concurrent attempts cannot
 * bypass the limit. A success resets the count. Counts are stored in PostgreSQL. Signing in requires PostgreSQL anyway, so no fallback is needed. Each process
 * also keeps its own count, so that deleting rows in the database does not make guessing free.
 */
@Injectable()
export class Throttle {
  private readonly key: KeyObject;
  private readonly own = new Map<string, OwnCount>();

  constructor(
    private readonly db: DataSource,
    config: Config,
  ) {
    [this.key] = derivedKeys(config, 'sealwright throttle');
  }

  /** Counts an attempt, or throws a Problem that contains the time to wait. The result does not depend on whether the subject exists. */
  async assertMayTry(attempts: readonly ThrottledAttempt[]): Promise<void> {
    for (const attempt of attempts) {
      const wait = await this.count(attempt);
      if (wait > 0) {
        throw new Problem('overloaded', 'auth.too-many-attempts', `Too many attempts. Retry after ${wait} seconds.`, {
          retryAfter: wait,
        });
      }
    }
  }

  /** Resets the counts after a successful attempt. */
  async succeeded(attempts: readonly ThrottledAttempt[]): Promise<void> {
    const keys = attempts.map((attempt) => this.keyOf(attempt));
    for (const key of keys) this.own.delete(key.toString('base64'));
    await this.db.query(`DELETE FROM attempt_count WHERE key = ANY($1::bytea[])`, [keys]);
  }

  /** Removes expired counts. */
  @Background({ name: 'expired-attempt-counts', scope: 'cluster', every: 15 * 60_000 })
  async expire(): Promise<void> {
    await this.db.query(
      `DELETE FROM attempt_count WHERE updated_at < now() - make_interval(secs => $1) AND blocked_until < now()`,
      [MEMORY_SECONDS],
    );
  }

  /** @returns seconds to wait; 0 if the attempt was counted and may proceed */
  private async count(attempt: ThrottledAttempt): Promise<number> {
    const { free, longest } = RULES[attempt.rule];
    const key = this.keyOf(attempt);
    const wait = this.countHere(key.toString('base64'), RULES[attempt.rule]);
    if (wait > 0) return wait;
    const counted: unknown[] = await this.db.query(
      `INSERT INTO attempt_count AS known (key, attempts, blocked_until, updated_at) VALUES ($1, 1, to_timestamp(0), now())
       ON CONFLICT (key) DO UPDATE SET
         attempts = CASE WHEN known.updated_at < now() - make_interval(secs => $4) THEN 1 ELSE known.attempts + 1 END,
         blocked_until = CASE WHEN known.updated_at < now() - make_interval(secs => $4) OR known.attempts < $2 THEN to_timestamp(0)
           ELSE now() + make_interval(secs => least($3, power(2, least(known.attempts - $2, 20)))) END,
         updated_at = now()
       WHERE known.blocked_until <= now()
       RETURNING attempts`,
      [key, free, longest, MEMORY_SECONDS],
    );
    if (counted.length > 0) return 0;
    const [row]: { wait: number }[] = await this.db.query(
      `SELECT greatest(1, ceil(extract(epoch FROM blocked_until - now())))::int AS wait FROM attempt_count WHERE key = $1`,
      [key],
    );
    return row?.wait ?? 1;
  }

  /** Counts the attempt in the memory of this process. @returns seconds to wait; 0 if the attempt was counted */
  private countHere(key: string, { free, longest }: Rule): number {
    const now = Date.now();
    const known = this.own.get(key);
    if (known !== undefined && known.blockedUntil > now) return Math.ceil((known.blockedUntil - now) / 1000);
    const isRecent = known !== undefined && known.updatedAt > now - MEMORY_SECONDS * 1000;
    const attempts = isRecent ? known.attempts + 1 : 1;
    const beyond = attempts - free * OWN_SHARE;
    const pause = beyond > 0 ? Math.min(longest, 2 ** Math.min(beyond, 20)) : 0;
    // Drop only the oldest entry: dropping all entries would let a flood of names reset the count of one name.
    if (known === undefined && this.own.size >= MAX_REMEMBERED) this.own.delete(this.own.keys().next().value ?? '');
    this.own.delete(key);
    this.own.set(key, { attempts, blockedUntil: now + pause * 1000, updatedAt: now });
    return 0;
  }

  private keyOf({ rule, subject }: ThrottledAttempt): Buffer {
    return createHmac('sha256', this.key).update(`${rule}\n${subject}`).digest();
  }
}
