import { Injectable } from '@nestjs/common';
import { type FileState, HostFiles } from '../../hosts/connections/host-files.service.js';
import type { SshSession } from '../../hosts/connections/ssh-session.port.js';
import { type Account, type KeyFileSettings, keyFilesOf } from '../../platform/ssh/key-files.js';
import { expirySupport, type ExpirySupport } from '../../formats/ssh/key-line.js';
import type { Limit } from '../authorized-keys/key-replacement.js';
import { askSshd } from './sshd-settings.js';
import { SSHD_CONDITIONS, TIME_AHEAD } from './survey-scripts.js';
import { StepFailure } from './rotation-work.js';

/** A file of authorized keys that is there. */
export interface KeyFile {
  readonly path: string;
  /** Account that it is read and changed as. */
  readonly as: string;
  readonly content: Buffer;
  readonly sha256: string;
  /** Why it must not be changed; in the words of a refusal. */
  readonly obstacles: readonly string[];
}

export interface Survey {
  readonly settings: KeyFileSettings;
  readonly account: Account;
  readonly files: readonly KeyFile[];
  readonly expiry: ExpirySupport;
}

const MIN_FREE_KIB = 1024;
/** A file of authorized keys; some ten thousand lines. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MANAGERS =
  /(managed|generated|maintained|controlled)\s+(by|with)\s+(puppet|ansible|chef|salt|cfengine|cloud-init|terraform|rudder)|added by google|google-guest-agent/i;

/** Looks at an account without changing anything: which files let keys in, and whether they could be changed. */
@Injectable()
export class AccountSurvey {
  constructor(private readonly files: HostFiles) {}

  async look(session: SshSession, name: string): Promise<Survey> {
    const { settings, account } = await askSshd(session, name);
    const files: KeyFile[] = [];
    for (const path of keyFilesOf(settings, account)) {
      if (path.includes('*'))
        throw new StepFailure('FAILED_PRECHECK', 'rotation.glob', `sshd reads a pattern: ${path}`);
      const file = await this.file(session, account, path);
      if (file !== undefined) files.push(file);
    }
    return { settings, account, files, expiry: expirySupport(session.software) };
  }

  /** When a line is to end that ends in so many seconds, as the sshd of the host reads it; undefined when it cannot be told. */
  async limit(session: SshSession, secondsAhead: number): Promise<Limit> {
    const support = expirySupport(session.software);
    if (support === 'none') return undefined;
    const { stdout } = await session.run(TIME_AHEAD, { args: [String(secondsAhead), support] });
    const time = stdout.toString().trim();
    if (/^\d{14}Z?$/.test(time)) return time;
    throw new StepFailure('BLOCKED', 'rotation.clock', 'The host does not tell its time.');
  }

  private async file(session: SshSession, account: Account, path: string): Promise<KeyFile | undefined> {
    // A file under the home belongs to the account, and root must not follow its links; any other one belongs to root.
    const as = path.startsWith(`${account.home}/`) ? account.name : 'root';
    const state = await this.files.state(session, path, as);
    if (state === undefined) return undefined;
    // Before it is opened: whoever reads a FIFO waits for its writer.
    if (state.kind !== 'file')
      throw new StepFailure('FAILED_PRECHECK', 'rotation.no-file', `${path} is no regular file.`);
    if (state.size > MAX_FILE_BYTES)
      throw new StepFailure(
        'FAILED_PRECHECK',
        'rotation.obstacle',
        `${path} has ${state.size} bytes, more than is read.`,
      );
    const content = await this.files.read(session, path, { as });
    if (content === undefined || state.sha256 === null)
      throw new StepFailure('FAILED_PRECHECK', 'rotation.no-file', `${path} is no regular file.`);
    const { stdout } = await session.run(SSHD_CONDITIONS, { args: [path], as });
    const obstacles = [
      ...(state.isLink && !state.realPath.startsWith(`${account.home}/`) && as !== 'root'
        ? ['is a symbolic link out of the home']
        : []),
      ...obstaclesOf(state, content, as),
      ...conditionsIn(stdout.toString()),
    ];
    return { path, as, content, sha256: state.sha256, obstacles };
  }
}

/** What of the file itself forbids to change it. */
function obstaclesOf({ links, owner }: FileState, content: Buffer, as: string): string[] {
  return [
    ...(links > 1 ? ['has another name (hard link)'] : []),
    // sshd reads such a line up to the NUL, and people would be shown more than that.
    ...(content.includes(0) ? ['holds a NUL byte'] : []),
    ...(owner === as ? [] : [`belongs to ${owner}`]),
  ];
}

/** What of the place of the file forbids to change it, as CONDITIONS prints it. */
function conditionsIn(line: string): string[] {
  const [free = '0', takes, flags = ''] = line.trim().split(' ');
  return [
    ...(/[ia]/.test(flags) ? ['is immutable or append-only (chattr)'] : []),
    ...(takes === 'yes' ? [] : ['is in a directory that takes no new file']),
    ...(Number(free) < MIN_FREE_KIB ? ['is on a file system that is full'] : []),
  ];
}

/** What says that a configuration management system would undo the change. */
export function managerOf(content: Buffer): string | undefined {
  return MANAGERS.exec(content.toString('latin1'))?.[0];
}
