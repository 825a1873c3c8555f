import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { SshConnections } from '../../hosts/connections/ssh-connections.service.js';
import type { ExecResult, SshSession } from '../../hosts/model/ssh-session.port.js';
import { Host } from '../../hosts/model/host.entity.js';
import { HostSightings } from '../../hosts/records/host-sightings.service.js';
import type { SshKeysFound } from '../../platform/queue/inbox-messages.js';
import { Problem } from '../../platform/errors/problem.js';
import type { ProbeResult, ScanResult } from '../scan-result.entity.js';
import { assetsOfHost } from './deep-assets.js';
import { type HostReading, readFiles, readKeyFiles, readKeyUses } from './host-reading.js';
import { type HostSurvey, readSurvey } from './host-survey.js';
import { fieldTextOf, HOST_SURVEY, READ, readScriptOutput, type ScriptLine, WALK } from './host-scripts.js';

const MAX_BYTES = 16 * 1024 * 1024;
const TIMEOUT_MS = 60_000;
const WALK_MS = 120_000;
const MAX_DENIED = 100;
/** Directories, in addition to home directories, in which services keep certificates and keys. */
const PLACES = ['/etc', '/opt', '/srv', '/usr/local/etc'];
/** Matches home directories of system accounts. In these directories, only `.ssh` is searched. */
const SYSTEM_HOME =
  /^\/(?:$|bin|sbin|usr|lib|dev|proc|sys|run|var\/(?:run|cache|spool|log|mail|backups)|nonexistent)(?:\/|$)?/;

const OUTCOMES: Record<string, ProbeResult['outcome']> = {
  'host.throttled': 'THROTTLED',
  'host.timeout': 'TIMEOUT',
  'host.unreachable': 'TIMEOUT',
  'host.lost': 'HUNG_UP',
  'host.output': 'FLOOD',
  'host.not-ssh': 'NOT_THE_PROTOCOL',
};

/**
 * DeepScan logs in to a host once with the host's credential and reads authorized keys, private keys, certificates, key stores and log lines of
 * key-based logins. It writes nothing on the host, and no private key bytes leave the host.
 */
@Injectable()
export class DeepScan {
  constructor(
    private readonly db: DataSource,
    private readonly connections: SshConnections,
    private readonly sightings: HostSightings,
  ) {}

  /** Scans the host. Host and login failures are returned as outcomes, not thrown. */
  async probe({ target, scanId }: ScanResult): Promise<ProbeResult> {
    const host = await this.db.manager.findOneBy(Host, { id: target });
    if (host === null) return { outcome: 'NO_LOGIN', facts: { code: 'host.missing' } };
    try {
      const session = await this.connections.open(host.id, { correlation: `scan ${scanId}` });
      try {
        return await this.scan(session, host, scanId);
      } finally {
        session.close();
      }
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      await this.sightings.notLookedInto(host.id, error.code);
      const outcome = error.code.startsWith('network.') ? 'DENIED' : (OUTCOMES[error.code] ?? 'NO_LOGIN');
      return { outcome, hostId: host.id, facts: { code: error.code, detail: error.message } };
    }
  }

  private async scan(session: SshSession, host: Host, scanId: string): Promise<ProbeResult> {
    const seenAt = new Date().toISOString();
    const start = performance.now();
    const { as, output } = await surveyHost(session);
    const survey = readSurvey(output);
    const input = (lines: string[]) => Buffer.from(lines.map((line) => `${line}\n`).join(''));
    const wanted = [...survey.keyFiles].map(([name, paths]) => [name, ...paths].join('\t'));
    const lines = readKeyFiles(await read(session, READ, { as, input: input(wanted), timeoutMs: TIMEOUT_MS }), survey);
    const places = placesOf(survey);
    const walked = await read(session, WALK, { as, input: input(places), timeoutMs: WALK_MS });
    const files = readFiles(walked);
    const log = walked.find(({ tag }) => tag === 'logins');
    const isJournal = log !== undefined && fieldTextOf(log, 1) === 'journal';
    const reading: HostReading = {
      ...files,
      lines: lines.lines,
      readPaths: [...lines.readPaths, ...files.readPaths],
      denied: [...lines.denied, ...files.denied],
    };
    const isWhole = survey.isRoot && !reading.isCut;
    const keys: SshKeysFound = {
      hostId: host.id,
      scanId,
      seenAt,
      readPaths: reading.readPaths,
      searched: isWhole ? places : [],
      keys: [...reading.lines, ...reading.privateKeys.filter(({ isForSsh }) => isForSsh)],
      uses: log === undefined ? [] : readKeyUses(fieldTextOf(log, 0), survey, isJournal),
    };
    const gap = { paths: lines.denied.slice(0, MAX_DENIED), lowConfidence: survey.confidence === 'low' };
    await this.sightings.lookedInto(host.id, { os: survey.os, scanId, gap });
    const url = `ssh://${host.address.includes(':') ? `[${host.address}]` : host.address}:${host.port}`;
    const found = assetsOfHost({ url, hostId: host.id, name: host.name, os: survey.os }, reading);
    const facts = factsOf(survey, reading, {
      uses: keys.uses.length,
      isJournal,
      seconds: (performance.now() - start) / 1000,
    });
    return { outcome: 'FOUND', hostId: host.id, facts, found, keys };
  }
}

/** Surveys the host as root if the login permits it, otherwise as the login account. Files that the login account cannot read are reported as denied. */
async function surveyHost(session: SshSession): Promise<{ as: string | undefined; output: ScriptLine[] }> {
  try {
    const output = outputOf(await session.run(HOST_SURVEY, { as: 'root', maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS }));
    if (output !== undefined) return { as: 'root', output };
  } catch (error) {
    if (!(error instanceof Problem && error.code === 'host.privilege')) throw error;
  }
  return { as: undefined, output: await read(session, HOST_SURVEY, { timeoutMs: TIMEOUT_MS }) };
}

async function read(
  session: SshSession,
  script: string,
  options: { as?: string; input?: Buffer; timeoutMs: number },
): Promise<ScriptLine[]> {
  const result = await session.run(script, { ...options, maxBytes: MAX_BYTES });
  const output = outputOf(result);
  if (output !== undefined) return output;
  if (result.truncated) throw new Problem('refused', 'host.output', 'The host sent more than 16 MiB.');
  throw new Problem('refused', 'host.file', `The host could not be scanned: exit status ${result.code}.`);
}

function outputOf({ stdout, truncated }: ExecResult): ScriptLine[] | undefined {
  return truncated ? undefined : readScriptOutput(stdout);
}

function placesOf({ accounts, isRoot, user }: HostSurvey): string[] {
  const homes = accounts.filter(({ name }) => isRoot || name === user).map(({ home }) => home);
  const searched = homes.map((home) => (SYSTEM_HOME.test(home) ? `${home === '/' ? '' : home}/.ssh` : home));
  return [...new Set([...PLACES, ...searched])].filter((place) => !place.includes('\n'));
}

interface ScanFacts {
  readonly uses: number;
  readonly isJournal: boolean;
  readonly seconds: number;
}

function factsOf(survey: HostSurvey, reading: HostReading, { uses, isJournal, seconds }: ScanFacts) {
  const { denied, lines, privateKeys, certificates, keyStores, trustStores, isCut } = reading;
  return {
    os: survey.os,
    readAs: survey.user,
    confidence: survey.confidence,
    accounts: survey.accounts.length,
    authorizedKeys: lines.length,
    privateKeys: privateKeys.map(({ path, type, fingerprint, passphrase, format }) => ({
      path,
      type,
      fingerprint,
      passphrase,
      format,
    })),
    certificates: certificates.length,
    keyStores,
    trustStores,
    logins: uses,
    loginsVerified: isJournal,
    sshd: survey.directives,
    authorizedKeysCommands: survey.commands,
    pathsDenied: denied.slice(0, MAX_DENIED),
    denied: denied.length,
    isCut,
    seconds: Math.round(seconds * 100) / 100,
  };
}
