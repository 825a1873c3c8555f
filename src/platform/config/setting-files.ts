import { readFileSync } from 'node:fs';
import { withoutByteOrderMark } from '../text/text-file.js';
import { SETTINGS, type SettingName } from './settings.js';

export type Environment = Readonly<Record<string, string | undefined>>;

const SUFFIX = '_FILE';
/** What Kubernetes puts into the environment of every pod for a service NAME, after NAME: `NAME_SERVICE_HOST`, `NAME_PORT_443_TCP_ADDR`, …. */
const LINK = /^_(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT(?:_\d+_[A-Z]+(?:_[A-Z]+)?)?)$/;
const LINK_HOST = '_SERVICE_HOST';
const LINK_ADDRESS = /^(?:tcp|udp|sctp):\/\//;

/** The settings as they were given: by NAME, or by NAME_FILE, the path of a file whose content is the value. */
export class SettingFiles {
  readonly faults: string[] = [];
  private readonly paths = new Map<SettingName, string>();
  /** The last content of each file that could be read. */
  private readonly contents = new Map<SettingName, string>();
  private readonly given: Environment;

  constructor(environment: Environment) {
    this.given = withoutServiceLinks(environment);
    for (const [name, path] of Object.entries(this.given)) this.take(name, path ?? '');
  }

  /** Names in the environment that begin with SVC_ and are neither a setting nor the file of one. */
  get unknown(): string[] {
    const isFile = (name: string) => name.endsWith(SUFFIX) && isSetting(name.slice(0, -SUFFIX.length));
    return Object.keys(this.given).filter((name) => name.startsWith('SVC_') && !isSetting(name) && !isFile(name));
  }

  /** The value now: a file is read again each time, and one that cannot be read leaves the last value that it had. */
  read(name: SettingName): string | undefined {
    const path = this.paths.get(name);
    if (path === undefined) return this.given[name];
    try {
      const content = contentOf(path);
      if (content !== '') this.contents.set(name, content);
    } catch {
      // It is being replaced, or is gone: the process goes on with what it knows.
    }
    return this.contents.get(name);
  }

  /** The file that the value is in; undefined when it was given by NAME itself, or not at all. */
  pathOf(name: SettingName): string | undefined {
    return this.paths.get(name);
  }

  private take(variable: string, path: string): void {
    const name = variable.slice(0, -SUFFIX.length);
    // An empty variable is as good as none, as with settings themselves.
    if (!variable.endsWith(SUFFIX) || isSetting(variable) || !isSetting(name) || path === '') return;
    if (this.given[name] !== undefined && this.given[name] !== '')
      this.faults.push(`${name} and ${variable} are both set; remove one`);
    try {
      this.paths.set(name, path);
      const content = contentOf(path);
      this.contents.set(name, content);
      // The default would take its place without a word: a database or a secret that nobody chose.
      if (content === '' && SETTINGS[name].default !== '')
        this.faults.push(
          `${variable} is empty: ${path}; write the value into it, or remove the setting for the default`,
        );
    } catch (error) {
      this.faults.push(`${variable} cannot be read: ${path} (${(error as NodeJS.ErrnoException).code})`);
    }
  }
}

/** Editors end a file with a line break, which belongs to no secret. */
function contentOf(path: string): string {
  return withoutByteOrderMark(readFileSync(path, 'utf8')).trimEnd();
}

function isSetting(name: string): name is SettingName {
  return Object.hasOwn(SETTINGS, name);
}

/** Without the variables of Kubernetes services whose names begin with `svc`, where the service's own host and port are there. */
function withoutServiceLinks(environment: Environment): Environment {
  const services = Object.keys(environment)
    .filter((name) => name.startsWith('SVC') && name.endsWith(LINK_HOST))
    .map((name) => name.slice(0, -LINK_HOST.length));
  const isLink = ([name, value]: [string, string | undefined]) =>
    services.some((service) => name.startsWith(service) && LINK.test(name.slice(service.length))) &&
    // SVC_PORT and SVC_SMTP_PORT are settings too; what Kubernetes gives there is an address.
    (!isSetting(name) || LINK_ADDRESS.test(value ?? ''));
  return Object.fromEntries(Object.entries(environment).filter((entry) => !isLink(entry)));
}
