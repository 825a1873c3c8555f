import { basename } from 'node:path';
import { configuration } from './detectors/configuration.js';
import { derFiles, pemDetector } from './detectors/pem-and-der.js';
import type { Detector } from './detectors/detector.js';
import { bks, javaKeyStore, pkcs12 } from './detectors/key-stores.js';
import { sourceCalls } from './detectors/source-rules.js';
import { sshKeys } from './detectors/ssh.js';
import { endpointOf } from './endpoints/endpoint.js';
import { sshFindings } from './endpoints/ssh.js';
import { tlsFindings } from './endpoints/tls.js';
import type { SensorFinding } from './model/finding.js';
import { filesUnder, readCandidate, unreadableReasonOf } from './tree.js';

const DETECTORS: readonly Detector[] = [
  pemDetector,
  derFiles,
  pkcs12,
  javaKeyStore,
  bks,
  sshKeys,
  configuration,
  sourceCalls,
];

export interface LookOptions {
  /** Name of the machine or checkout that contains the paths. */
  readonly source: string;
  readonly exclude: readonly string[];
  readonly storePasswords: readonly string[];
  readonly onFault: (where: string, reason: string) => void;
}

/**
 * Maximum number of findings in the files of one account. The limit prevents one account from exhausting the capacity of a report. The limit does not apply to
 * root and the sensor's own account.
 */
const MAX_FINDINGS_OF_ACCOUNT = 50_000;

/**
 * lookAtTree yields the findings in a file tree, file by file. Files that cannot be read are reported as faults. Accounts with too many findings are also
 * reported as faults, and their remaining files are skipped.
 */
export async function* lookAtTree(path: string, options: LookOptions): AsyncGenerator<SensorFinding> {
  const { source, storePasswords, onFault } = options;
  const left = new Map<number, number>();
  for await (const file of filesUnder(path, options)) {
    try {
      const candidate = await readCandidate(file);
      if (candidate === undefined) continue;
      const { bytes, uid } = candidate;
      let room = isTrusted(uid) ? Infinity : (left.get(uid) ?? MAX_FINDINGS_OF_ACCOUNT);
      if (room === 0) continue;
      const seen = {
        location: `${source}:${file}`,
        name: basename(file),
        bytes,
        text: bytes.toString('latin1'),
        storePasswords,
      };
      for (const detector of DETECTORS) {
        const findings = detector(seen).slice(0, room);
        room -= findings.length;
        yield* findings;
      }
      if (room !== Infinity) left.set(uid, room);
      if (room === 0) onFault(file, `more than ${MAX_FINDINGS_OF_ACCOUNT} findings for account ${uid}`);
    } catch (error) {
      onFault(file, unreadableReasonOf(error));
    }
  }
}

function isTrusted(uid: number): boolean {
  return uid === 0 || uid === process.getuid?.();
}

/** Returns the findings about an endpoint that are visible without authentication. Throws if the endpoint does not respond. */
export async function scanEndpoint(text: string): Promise<SensorFinding[]> {
  const endpoint = endpointOf(text);
  return endpoint.kind === 'ssh' ? sshFindings(endpoint) : tlsFindings(endpoint);
}
