import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadSingleModules } from '../support/single-modules.js';
import type { FaultKind } from './schedule.js';

/** Variants of the service without one of its safeguards, which the invariants must detect. */
export interface Control {
  readonly meaning: string;
  /** Texts in compiled files with their replacements. Each text must occur exactly once. */
  readonly edits: readonly { readonly file: string; readonly text: string; readonly instead: string }[];
  /** Invariants, at least one of which must be violated. */
  readonly caughtBy: readonly string[];
  readonly faults: readonly FaultKind[];
}

export const CONTROLS = {
  'no-compare-and-set': {
    meaning: 'outcomes are written whatever became of the request meanwhile',
    edits: [
      {
        file: 'signing/requests/signing-outcome.repository.js',
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
        text: 'return { request, id: await this.gate.record(request) };',
        instead: `const { row, keyRevision, envelope } = request;
        if (row.status === 'PROCESSING') row.signed = await this.signer.sign({ ...row, keyRevision, envelope });
        return { request, id: await this.gate.record(request) };`,
      },
      {
        file: 'signing/requests/signing.service.js',
        text: 'const outcome = await this.signer.sign(claimed);',
        instead: 'const outcome = claimed.signed ?? (await this.signer.sign(claimed));',
      },
    ],
    caughtBy: ['5'],
    faults: ['kill-api', 'postgres-cut', 'hsm-error', 'redis-flush'],
  },
} as const satisfies Record<string, Control>;
export type ControlName = keyof typeof CONTROLS;

const ROOT = join(import.meta.dirname, '../..');
export const DIST = join(ROOT, 'dist');

/** Copies the build into `directory` and applies the control's edits. @returns the path of the modified copy */
export function breakCopy(name: ControlName, directory: string): string {
  const place = join(directory, 'broken');
  const dist = join(place, 'dist');
  mkdirSync(place);
  cpSync(DIST, dist, { recursive: true });
  loadSingleModules(dist);
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
