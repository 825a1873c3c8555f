import { readFileSync } from 'node:fs';
import { withoutByteOrderMark } from '../text/text-file.js';
import { SETTINGS, type SettingName } from './settings.js';

export type Environment = Readonly<Record<string, string | undefined>>;

const SUFFIX = '_FILE';
/** Suffixes of the variables that Kubernetes sets in every pod for a service NAME: `NAME_SERVICE_HOST`, `NAME_PORT_443_TCP_ADDR`, …. */
const LINK = /^_(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT(?:_\d+_[A-Z]+(?:_[A-Z]+)?)?)$/;
const LINK_HOST = '_SERVICE_HOST';
const LINK_ADDRESS = /^(?:tcp|udp|sctp):\/\//;

/** SettingFiles returns settings as given: the variable NAME, or the content of the file whose path is in NAME_FILE. */
export class SettingFiles {
  readonly faults: string[] = [];
  private readonly paths = new Map<SettingName, string>();
  /** Last content of each file that could be read. */
  private readonly contents = new Map<SettingName, string>();
  private readonly given: Environment;

  constructor(environment: Environment) {
    this.given = withoutServiceLinks(environment);
    for (const [name, path] of Object.entries(this.given)) this.take(name, path ?? '');
  }

  /** Variables that begin with SVC_ but correspond to neither a setting nor a setting's file. */
  get unknown(): string[] {
    const isFile = (name: string) => name.endsWith(SUFFIX) && isSetting(name.slice(0, -SUFFIX.length));
    return Object.keys(this.given).filter((name) => name.startsWith('SVC_') && !isSetting(name) && !isFile(name));
  }

  /** Returns the current value. A value in a file is read every time; if the file is unreadable, its last content is returned. */
  read(name: SettingName): string | undefined {
    const path = this.paths.get(name);
    if (path === undefined) return this.given[name];
    try {
      const content = contentOf(path);
      if (content !== '') this.contents.set(name, content);
    } catch {
      // The file is missing or being replaced; the last content is used.
    }
    return this.contents.get(name);
  }

  /** Returns the path of the file that contains the value; undefined if the value is not in a file. */
  pathOf(name: SettingName): string | undefined {
    return this.paths.get(name);
  }

  private take(variable: string, path: string): void {
    const name = variable.slice(0, -SUFFIX.length);
    // An empty variable counts as not set, like an empty setting.
    if (!variable.endsWith(SUFFIX) || isSetting(variable) || !isSetting(name) || path === '') return;
    if (this.given[name] !== undefined && this.given[name] !== '')
      this.faults.push(`${name} and ${variable} are both set; remove one of them`);
    try {
      this.paths.set(name, path);
      const content = contentOf(path);
      this.contents.set(name, content);
      // With an empty file, the default would silently be used for a database or a secret.
      if (content === '' && SETTINGS[name].default !== '')
        this.faults.push(
          `${variable} refers to an empty file: ${path}; write the value to the file, or remove ${variable} to use the default`,
        );
    } catch (error) {
      this.faults.push(`${variable} cannot be read: ${path} (${(error as NodeJS.ErrnoException).code})`);
    }
  }
}

/** Returns the content without the trailing line break that editors add. */
function contentOf(path: string): string {
  return withoutByteOrderMark(readFileSync(path, 'utf8')).trimEnd();
}

function isSetting(name: string): name is SettingName {
  return Object.hasOwn(SETTINGS, name);
}

/** Removes variables that Kubernetes sets for services whose names begin with `svc`, if they contain the host and port of the service. */
function withoutServiceLinks(environment: Environment): Environment {
  const services = Object.keys(environment)
    .filter((name) => name.startsWith('SVC') && name.endsWith(LINK_HOST))
    .map((name) => name.slice(0, -LINK_HOST.length));
  const isLink = ([name, value]: [string, string | undefined]) =>
    services.some((service) => name.startsWith(service) && LINK.test(name.slice(service.length))) &&
    // SVC_PORT and SVC_SMTP_PORT are also settings. Kubernetes would set them to an address.
    (!isSetting(name) || LINK_ADDRESS.test(value ?? ''));
  return Object.fromEntries(Object.entries(environment).filter((entry) => !isLink(entry)));
}
