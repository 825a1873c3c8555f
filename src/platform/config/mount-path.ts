/** First segments under /v1/ that are taken. */
const OWN_PATHS = new Set([
  'auth',
  'host-authorities',
  'hosts',
  'keys',
  'rotation-policies',
  'rotations',
  'scan-scopes',
  'scans',
  'ssh-ca',
  'sys',
]);

/** Whether Vault's transit may be mounted at this path under /v1/: `transit`, `team/transit`; names of our own cannot be taken. */
export function isMountPath(path: string): boolean {
  return /^\w[\w.-]*(?:\/\w[\w.-]*)*$/.test(path) && !OWN_PATHS.has(path.split('/', 1)[0] ?? '');
}
