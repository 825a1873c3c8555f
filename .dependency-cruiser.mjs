/** Imports flow one way: entry points -> modules -> events -> auth -> audit, hsm -> access, notifications -> platform -> formats. Run by `npm run boundaries`. */
const rule = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });
const modules = 'signing|approvals|hosts|ssh-keys|discovery|inventory|schedules|sensors|alerts|system';
/** The arrows that are drawn between modules; everything else hears of a module through platform/events. */
const drawn = [
  { path: '^src/signing/', pathNot: '^src/(signing|approvals)/' },
  { path: '^src/ssh-keys/', pathNot: '^src/(ssh-keys|hosts|approvals)/' },
  { path: '^src/(alerts|sensors)/', pathNot: '^src/($1|inventory)/' },
  { path: '^src/discovery/', pathNot: '^src/(discovery|hosts)/' },
  { path: '^src/inventory/', pathNot: '^src/(inventory|signing)/' },
  { path: '^src/(approvals|hosts|schedules)/', pathNot: '^src/$1/' },
];

export default {
  forbidden: [
    rule('no-cycles', 'A cycle crashes at boot under ESM, and only in dist.', {}, { circular: true }),
    ...drawn.map(({ path, pathNot }) =>
      rule(
        'modules-meet-by-events',
        'Sideways only where the design draws an arrow.',
        { path },
        { path: `^src/(${modules})/`, pathNot },
      ),
    ),
    rule(
      'other-modules-by-their-door',
      'From another module only its service, module, entity, port or events may be imported.',
      { path: '^src/([^/]+)/' },
      {
        path: '^src/(?!formats|platform|notifications|access|hsm|auth|audit|events|verifier)[^/]+/',
        pathNot: '^src/$1/|\\.(service|module|entity|port|events)\\.ts$',
      },
    ),
    rule(
      'vault-by-its-door',
      'Outside src/hsm only the KeyVault class, HsmSeal, PublicVerifier and the module are known.',
      { path: '^src/', pathNot: '^src/hsm/' },
      { path: '^src/hsm/', pathNot: '^src/hsm/(key-vault|hsm-seal|public-verifier|hsm\\.module)\\.ts$' },
    ),
    rule(
      'pkcs11js-in-one-file',
      'One file talks to the HSM library.',
      { path: '^(src|test|bench|chaos)/', pathNot: '^src/hsm/pkcs11/pkcs11-token\\.ts$' },
      { path: 'node_modules/pkcs11js' },
    ),
    rule(
      'lower-layers-know-no-module',
      '',
      { path: '^src/(events|auth|audit|hsm|access|notifications|platform)/' },
      { path: `^src/(${modules})/` },
    ),
    rule(
      'formats-are-the-floor',
      'Parsers and writers of formats need nothing but Node and our readers of JSON: service, client, sensor and verifier share them.',
      { path: '^src/formats/', pathNot: '\\.spec\\.ts$' },
      { path: '^src/|node_modules', pathNot: '^src/(formats|platform/json|platform/text)/' },
    ),
    rule(
      'platform-stands-on-formats',
      '',
      { path: '^src/platform/' },
      { path: '^src/', pathNot: '^src/(platform|formats)/' },
    ),
    rule(
      'notifications-stand-on-platform',
      '',
      { path: '^src/notifications/' },
      { path: '^src/', pathNot: '^src/(notifications|platform)/' },
    ),
    rule('access-stands-on-platform', '', { path: '^src/access/' }, { path: '^src/(auth|audit|hsm)/' }),
    rule(
      'events-are-above-auth',
      'Modules announce events; what an event is based on is in the audit log.',
      { path: '^src/(auth|audit|hsm|access|notifications|platform)/' },
      { path: '^src/events/' },
    ),
    rule('audit-knows-no-sign-in', '', { path: '^src/audit/' }, { path: '^src/auth/' }),
    rule('hsm-stands-on-platform', '', { path: '^src/hsm/' }, { path: '^src/(auth|audit)/' }),
    {
      name: 'no-folder-cycles',
      comment: 'Folders import one way.',
      severity: 'error',
      scope: 'folder',
      from: {},
      to: { circular: true },
    },
    rule(
      'edges-hold-no-logic',
      'Controllers, processors, schedules and commands call one service.',
      { path: '\\.(processor|schedule|controller|command)\\.ts$' },
      { path: 'node_modules/typeorm' },
    ),
    rule(
      'client-knows-http-alone',
      'The command line is a client like any other; what it verifies it verifies without the service.',
      { path: '^src/client/', pathNot: '\\.spec\\.ts$' },
      { path: '^src/|node_modules', pathNot: '^src/(client|verifier|formats|platform/text|platform/json)/' },
    ),
    rule(
      'verifier-stands-alone',
      'What an auditor runs needs nothing but Node: no setting, no table, no package.',
      { path: '^src/verifier/', pathNot: '\\.spec\\.ts$' },
      { path: '^src/|node_modules', pathNot: '^src/(verifier|formats|platform/json)/' },
    ),
    rule('not-to-test', '', { path: '^src/' }, { path: '^(test|bench|chaos)/' }),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: 'specify',
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
      extensions: ['.ts', '.js'],
    },
  },
};
