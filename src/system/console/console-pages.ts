/** First parts of the addresses of the console's pages. What is not here is the API's, and unknown there. */
const SECTIONS = [
  'alerts',
  'approvals',
  'assets',
  'attestations',
  'audit',
  'certificates',
  'conflicts',
  'deadlines',
  'health',
  'hosts',
  'imports',
  'jurisdictions',
  'keys',
  'policies',
  'policy-packs',
  'profile',
  'requests',
  'rotation-policies',
  'rotations',
  'rules',
  'scan-scopes',
  'scans',
  'schedules',
  'sensors',
  'settings',
  'sign',
  'ssh-authorities',
  'ssh-keys',
];

/** Routes of the pages: the dashboard, each section, and what is below it. */
export const CONSOLE_PAGES = ['', ...SECTIONS.flatMap((section) => [section, `${section}/*`])];
