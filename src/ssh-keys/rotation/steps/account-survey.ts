import { Injectable } from '@nestjs/common';
import { type FileState, HostFiles } from '../../../hosts/connections/host-files.service.js';
import type { SshSession } from '../../../hosts/model/ssh-session.port.js';
import { type UnixAccount, type KeyFileSettings, keyFilesOf } from '../../../platform/ssh/key-files.js';
import { expirySupport, type ExpirySupport } from '../../../formats/ssh/key-line.js';
import type { Limit } from '../key-lines/key-replacement.js';
import { askSshd } from './sshd-settings.js';
import { StepFailure } from '../model/rotation-work.js';

/** KeyFile is an existing authorized_keys file. */
export interface KeyFile {
  readonly path: string;
  /** Account that reads and changes the file. */
  readonly as: string;
  readonly content: Buffer;
  readonly sha256: string;
  /** Reasons why the file must not be changed, each as a clause that follows the path. */
  readonly obstacles: readonly string[];
  /** Paths of the file and its directories that other accounts can write to, each as `/home/a has mode 777`. sshd rejects these paths if it checks modes. */
  readonly loose: readonly string[];
}

export interface Survey {
  readonly settings: KeyFileSettings;
  readonly account: UnixAccount;
  readonly files: readonly KeyFile[];
  readonly expiry: ExpirySupport;
}

/**
 * Arguments: $1 path, $2 home directory of the account. Prints a line with the free KiB of the file system, whether the directory accepts new files, and the
 * chattr flags. Then prints the mode and path of the file, of its directory and of the home directory, one per line.
 */
const SSHD_CONDITIONS = `
LC_ALL=C; export LC_ALL
real=$(readlink -f -- "$1") || real=$1
dir=$(dirname -- "$real")
free=$(df -Pk -- "$dir" 2>/dev/null | tail -n 1 | awk '{print $4}')
[ -w "$dir" ] && takes=yes || takes=no
flags=$(lsattr -d -- "$real" 2>/dev/null | cut -d' ' -f1)
echo "\${free:-0} $takes \${flags:--}"
for one in "$real" "$dir" "$2"; do stat -c '%a %n' -- "$one" 2>/dev/null || :; done
`;

/** Arguments: $1 seconds, $2 utc or local. Prints the time $1 seconds from now by the host's clock, which sshd compares with expiry-time. */
const TIME_AHEAD = `
at=$(($(date -u +%s) + $1))
if [ "$2" = utc ]; then date -u -d "@$at" +%Y%m%d%H%M%SZ; else date -d "@$at" +%Y%m%d%H%M%S; fi
`;

/** Free space in KiB that is required in addition to the copies of the file. */
const MIN_FREE_KIB = 64;
/** Maximum number of copies of the file that can exist at once: the current file, the new file, and files written by other programs. */
const COPIES = 4;
const KIB = 1024;
/** Maximum size of an authorized_keys file in bytes, which is about ten thousand lines. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MANAGERS =
  /(managed|generated|maintained|controlled)\s+(by|with)\s+(puppet|ansible|chef|salt|cfengine|cloud-init|terraform|rudder)|added by google|google-guest-agent/i;

/** AccountSurvey determines which files of an account authorize keys, and whether these files can be changed. The survey does not change any file. */
@Injectable()
export class AccountSurvey {
  constructor(private readonly files: HostFiles) {}

  async look(session: SshSession, name: string): Promise<Survey> {
    const { settings, account } = await askSshd(session, name);
    const files: KeyFile[] = [];
    for (const path of keyFilesOf(settings, account)) {
      if (/[*?[]/.test(path))
        throw new StepFailure('FAILED_PRECHECK', 'rotation.glob', `sshd would read this path as a pattern: ${path}`);
      const file = await this.file(session, account, path);
      if (file !== undefined) files.push(file);
    }
    return { settings, account, files, expiry: expirySupport(session.software) };
  }

  /** Returns the `expiry-time` in `secondsAhead` seconds, in the format of the host's sshd, or undefined if that sshd does not support the option. */
  async limit(session: SshSession, secondsAhead: number): Promise<Limit> {
    const support = expirySupport(session.software);
    if (support === 'none') return undefined;
    const { stdout } = await session.run(TIME_AHEAD, { args: [String(secondsAhead), support] });
    const time = stdout.toString().trim();
    if (/^\d{14}Z?$/.test(time)) return time;
    throw new StepFailure('BLOCKED', 'rotation.clock', 'The host does not report its time.');
  }

  private async file(session: SshSession, account: UnixAccount, path: string): Promise<KeyFile | undefined> {
    // A file in the home directory belongs to the account, and root must not follow its links. Any other file belongs to root.
    const as = path.startsWith(`${account.home}/`) ? account.name : 'root';
    const state = await this.files.state(session, path, as);
    if (state === undefined) return undefined;
    // Check this before opening the file, because reading a FIFO would block until another process writes to it.
    if (state.kind !== 'file')
      throw new StepFailure('FAILED_PRECHECK', 'rotation.no-file', `${path} is not a regular file.`);
    if (state.size > MAX_FILE_BYTES)
      throw new StepFailure(
        'FAILED_PRECHECK',
        'rotation.obstacle',
        `${path} is too large to read: ${state.size} bytes.`,
      );
    const content = await this.files.read(session, path, { as });
    if (content === undefined || state.sha256 === null)
      throw new StepFailure('FAILED_PRECHECK', 'rotation.no-file', `${path} is not a regular file.`);
    const { stdout } = await session.run(SSHD_CONDITIONS, { args: [path, account.home], as });
    const [conditions = '', ...modes] = stdout.toString().split('\n');
    const obstacles = [
      ...(state.isLink && !state.realPath.startsWith(`${account.home}/`) && as !== 'root'
        ? ['is a symbolic link that leaves the home directory']
        : []),
      ...obstaclesOf(state, content, as),
      ...conditionsIn(conditions, state.size),
    ];
    return { path, as, content, sha256: state.sha256, obstacles, loose: looseIn(modes) };
  }
}

/** Returns obstacles that concern the file itself. */
function obstaclesOf({ links, owner }: FileState, content: Buffer, as: string): string[] {
  return [
    ...(links > 1 ? ['has more than one hard link'] : []),
    // sshd reads a line only up to a NUL, but approvers would see the rest of the line.
    ...(content.includes(0) ? ['contains a NUL byte'] : []),
    ...(owner === as ? [] : [`is owned by ${owner}`]),
  ];
}

/** Returns obstacles in the directory and file system of a file with `size` bytes. `line` was printed by SSHD_CONDITIONS. */
function conditionsIn(line: string, size: number): string[] {
  const [free = '0', takes, flags = ''] = line.trim().split(' ');
  const wanted = MIN_FREE_KIB + Math.ceil((COPIES * size) / KIB);
  return [
    ...(/[ia]/.test(flags) ? ['is immutable or append-only (chattr)'] : []),
    ...(takes === 'yes' ? [] : ['is in a directory where no file can be created']),
    ...(Number(free) < wanted
      ? [`is on a file system with ${Number(free)} KiB free, but replacing it requires ${wanted} KiB`]
      : []),
  ];
}

/** Returns the paths that are writable by the group or by other accounts, from lines with a mode and a path. */
function looseIn(lines: readonly string[]): string[] {
  return lines.flatMap((line) => {
    const [, mode = '', path] = /^([0-7]{1,4}) (.+)$/.exec(line) ?? [];
    return path === undefined || (Number.parseInt(mode, 8) & 0o022) === 0 ? [] : [`${path} has mode ${mode}`];
  });
}

/** Returns the text in the file that names a configuration management system, which would undo the change, or undefined if the file contains no such text. */
export function managerOf(content: Buffer): string | undefined {
  return MANAGERS.exec(content.toString('latin1'))?.[0];
}
