import type { SettingFiles } from './setting-files.js';
import { SECRET_SETTINGS, SETTINGS, type SettingName } from './settings.js';

const PLAIN_VALUE = /^[\w./:@,+=*-]*$/;
const SECRET_PARAMETER = /^(?:ssl)?password=/i;
/** Settings whose URL may contain commas, because the URL may list several hosts. */
const ONE_ADDRESS: ReadonlySet<SettingName> = new Set(['SVC_DATABASE_URL', 'SVC_DATABASE_READ_URL', 'SVC_REDIS_URL']);

/**
 * settingsCopy returns the configured settings as lines of an environment file. Each secret is replaced with a comment about the origin of the secret, and
 * passwords are removed from URLs.
 */
export function settingsCopy(files: SettingFiles): string {
  const lines = (Object.keys(SETTINGS) as SettingName[]).flatMap((name) => lineOf(name, files));
  return [
    '# Settings of the service at the time of the backup. Secrets are not included; restore them from your secret store.',
    ...lines,
    '',
  ].join('\n');
}

function lineOf(name: SettingName, files: SettingFiles): string[] {
  const path = files.pathOf(name);
  if (path !== undefined) return [`${name}_FILE=${quoted(path)}`];
  const value = files.read(name) ?? '';
  if (value === '' || value === SETTINGS[name].default) return [];
  if (SECRET_SETTINGS.has(name)) return [`# ${name} was set in the environment`];
  const parts = ONE_ADDRESS.has(name) ? [value] : value.split(',');
  return [`${name}=${quoted(parts.map(withoutPassword).join(','))}`];
}

/** Removes the password from a URL, even if the password contains special characters. Returns any other text unchanged. */
function withoutPassword(text: string): string {
  const start = text.indexOf('://') + 3;
  const end = text.lastIndexOf('@');
  if (start < 3) return text;
  const [user = ''] = text.slice(start, Math.max(start, end)).split(':', 1);
  const bare = end < start ? text : `${text.slice(0, start)}${user}${text.slice(end)}`;
  const [address = '', ...query] = bare.split('?');
  if (query.length === 0) return address;
  const kept = query
    .join('?')
    .split('&')
    .filter((parameter) => !SECRET_PARAMETER.test(parameter));
  return kept.length === 0 ? address : `${address}?${kept.join('&')}`;
}

function quoted(value: string): string {
  return PLAIN_VALUE.test(value) ? value : `'${value.replaceAll(/['\r\n]/g, ' ')}'`;
}
