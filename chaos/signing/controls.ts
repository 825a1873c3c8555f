import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FaultKind } from './schedule.js';

/** Controls: the service without one of its safeguards, which the invariants must detect. */
export interface Control {
  readonly meaning: string;
  /** Exact texts of compiled files, each of which must occur exactly once, with their replacements. */
  readonly edits: readonly { readonly file: string; readonly text: string; readonly instead: string }[];
  /** Invariants of which at least one must be violated. */
  readonly caughtBy: readonly string[];
  readonly faults: readonly FaultKind[];
}

export const CONTROLS = {
  'no-compare-and-set': {
    meaning: 'outcomes are written whatever became of the request meanwhile',
    edits: [
      {
        file: 'signing/requests/signing-request.repository.js',
        text: 'r.status = ANY($${next}) AND r.attempt = item.attempt AND r.worker = $${next + 1}',
        instead: '(r.status = ANY($${next}) AND r.attempt = item.attempt AND r.worker = $${next + 1} OR true)',
      },
    ],
    caughtBy: ['3', '4'],
    faults: ['freeze-worker', 'freeze-api'],
  },
  'no-intent': {
    meaning: 'the HSM is asked before the request is committed',
    edits: [
      {
        file: 'signing/requests/signing.service.js',
        text: 'return await this.gate.admit(taken ?? (await this.validator.newRequestOf(caller, order)));',
        instead: `const asked = await this.validator.newRequestOf(caller, order);
        const { request, envelope, keyRevision } = asked;
        const who = { requestedBy: caller.id, ownerId: caller.ownerId, correlation: caller.origin.requestId };
        const intended = { ...request, ...who, envelope, keyRevision, attempt: 1, strikes: 0 };
        if (!order.background) request.asked = await this.attempts.ask(intended);
        return await this.gate.admit(asked);`,
      },
      {
        file: 'signing/requests/signing-attempts.js',
        text: 'await this.ask(request)',
        instead: 'request.asked ?? (await this.ask(request))',
      },
    ],
    caughtBy: ['5'],
    faults: ['kill-api', 'postgres-cut', 'hsm-error', 'redis-flush'],
  },
} as const satisfies Record<string, Control>;
export type ControlName = keyof typeof CONTROLS;

const ROOT = join(import.meta.dirname, '../..');
export const DIST = join(ROOT, 'dist');

/** Copies the build into `directory` and breaks it there. @returns the path of the broken copy */
export function breakCopy(name: ControlName, directory: string): string {
  const place = join(directory, 'broken');
  const dist = join(place, 'dist');
  mkdirSync(place);
  cpSync(DIST, dist, { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(place, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(place, 'node_modules'));
  const control: Control = CONTROLS[name];
  for (const { file, text, instead } of control.edits) {
    const path = join(dist, file);
    const parts = readFileSync(path, 'utf8').split(text);
    if (parts.length !== 2) {
      throw new Error(
        `${file} holds this ${parts.length - 1} times instead of once; adapt the control ${name}:\n${text}`,
      );
    }
    writeFileSync(path, parts.join(instead));
  }
  return dist;
}
