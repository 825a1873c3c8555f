import type { IdentityProviderView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { type Field, type Option, type Row, textOf, type Values } from '../../patterns/form-fields.js';

export type ProviderKind = IdentityProviderView['kind'];

export const ROLES: readonly string[] = ['viewer', 'operator', 'approver', 'auditor', 'admin'];
const BY_KEY = 'private_key_jwt';
const AUTHENTICATIONS = ['client_secret_basic', 'client_secret_post', 'client_secret_jwt', BY_KEY, 'none'];
const WITHOUT_SECRET = [BY_KEY, 'none'];
const COMPARISONS = ['exact', 'minimum', 'maximum', 'better'];
const FORMAT = 'urn:oasis:names:tc:SAML';
/** NameID formats that identify a person. */
const NAME_ID_FORMATS = [
  `${FORMAT}:2.0:nameid-format:persistent`,
  `${FORMAT}:1.1:nameid-format:emailAddress`,
  `${FORMAT}:1.1:nameid-format:unspecified`,
];
/** Form value for null: no format is requested. */
const NO_FORMAT = 'none';

type Settings = Readonly<Record<string, unknown>>;

const textIn = (settings: Settings, name: string): string => (typeof settings[name] === 'string' ? settings[name] : '');
const linesIn = (settings: Settings, name: string): string =>
  Array.isArray(settings[name]) ? (settings[name] as string[]).join('\n') : '';

/** useProviderFields returns the form fields for all settings of an identity provider. */
export function useProviderFields(kind: ProviderKind, of: IdentityProviderView | undefined): Field[] {
  const { t } = useI18n();
  const oidc = useOidcFields(of);
  const saml = useSamlFields(of);
  const roles = useRoleFields(of);
  const isEnding = (values: Values) => of?.enabled === true && values['enabled'] === false;
  return [
    ...(of === undefined ? [{ name: 'name', label: t('sso.name'), isRequired: true, hint: t('sso.name.hint') }] : []),
    { name: 'label', label: t('sso.label'), isRequired: true, value: of?.label ?? '' },
    ...(kind === 'oidc' ? oidc : saml),
    ...roles,
    { name: 'enabled', kind: 'yes', label: t('sso.enabled'), value: of?.enabled ?? true },
    { name: 'confirmOwn', kind: 'yes', label: t('sso.confirmOwn'), hint: t('sso.confirmOwn.hint'), when: isEnding },
  ];
}

function useOidcFields(of: IdentityProviderView | undefined): Field[] {
  const { t, named } = useI18n();
  const settings: Settings = of?.settings ?? {};
  const isByKey = ({ clientAuthentication }: Values) => clientAuthentication === BY_KEY;
  const usesSecret = ({ clientAuthentication }: Values) => !WITHOUT_SECRET.includes(textOf(clientAuthentication));
  return [
    { name: 'issuer', kind: 'url', label: t('sso.issuer'), isRequired: true, value: textIn(settings, 'issuer') },
    { name: 'clientId', label: t('sso.clientId'), isRequired: true, value: textIn(settings, 'clientId') },
    {
      name: 'clientAuthentication',
      kind: 'choice',
      label: t('sso.clientAuthentication'),
      hint: t('sso.clientAuthentication.hint'),
      options: AUTHENTICATIONS.map((value) => ({ value, label: named('clientAuthentication', value) })),
      value: textIn(settings, 'clientAuthentication'),
    },
    {
      name: 'clientSecret',
      kind: 'password',
      label: t('sso.clientSecret'),
      hint: t(of?.hasSecret === true ? 'sso.clientSecret.keep' : 'sso.clientSecret.public'),
      when: usesSecret,
    },
    {
      name: 'assertionAudience',
      kind: 'choice',
      label: t('sso.assertionAudience'),
      options: ['token-endpoint', 'issuer'].map((value) => ({ value, label: named('assertionAudience', value) })),
      value: textIn(settings, 'assertionAudience'),
      when: isByKey,
    },
    ...newKeyField(t, of, isByKey),
    { name: 'scopes', kind: 'lines', label: t('sso.scopes'), hint: t('sso.scopes.hint'), value: scopesOf(of) },
    {
      name: 'acrValues',
      kind: 'lines',
      label: t('sso.acrValues'),
      hint: t('sso.acrValues.hint'),
      value: linesIn(settings, 'acrValues'),
    },
    ...redirectField(t, of),
  ];
}

const scopesOf = (of: IdentityProviderView | undefined): string =>
  of === undefined ? 'openid\nprofile\nemail' : linesIn(of.settings, 'scopes');

type Translate = ReturnType<typeof useI18n>['t'];

/** newKeyField offers a new key once the provider has one, that is, after it was saved. */
function newKeyField(t: Translate, of: IdentityProviderView | undefined, when?: (values: Values) => boolean): Field[] {
  if (of === undefined || !('ourCertificate' in of.settings)) return [];
  return [{ name: 'newKey', kind: 'yes', label: t('sso.newKey'), hint: t('sso.newKey.hint'), ...(when && { when }) }];
}

/** redirectField offers a separate redirect URI to providers of earlier versions, which share one. */
function redirectField(t: Translate, of: IdentityProviderView | undefined): Field[] {
  if (of?.redirect !== 'shared') return [];
  const options = (['shared', 'own'] as const).map((value) => ({ value, label: t(`sso.redirect.${value}`) }));
  const common = { name: 'redirect', kind: 'choice', label: t('sso.redirect'), hint: t('sso.redirect.hint') } as const;
  return [{ ...common, isRequired: true, options, value: 'shared' }];
}

function useSamlFields(of: IdentityProviderView | undefined): Field[] {
  const { t } = useI18n();
  const settings: Settings = of?.settings ?? {};
  const context = useContextFields(settings);
  return [
    { name: 'entityId', label: t('sso.entityId'), isRequired: true, value: textIn(settings, 'entityId') },
    {
      name: 'entryPoint',
      kind: 'url',
      label: t('sso.entryPoint'),
      isRequired: true,
      value: textIn(settings, 'entryPoint'),
    },
    {
      name: 'certificates',
      kind: 'area',
      label: t('sso.certificate'),
      hint: t('sso.certificate.hint'),
      isRequired: true,
      value: linesIn(settings, 'certificates'),
    },
    { name: 'logoutUrl', kind: 'url', label: t('sso.logoutUrl'), value: textIn(settings, 'logoutUrl') },
    { name: 'signRequests', kind: 'yes', label: t('sso.signRequests'), value: settings['signRequests'] === true },
    ...newKeyField(t, of),
    nameIdField(t, settings),
    ...context,
  ];
}

function nameIdField(t: Translate, settings: Settings): Field {
  const format = settings['nameIdFormat'];
  const value = format === null ? NO_FORMAT : typeof format === 'string' ? format : '';
  const known = [...new Set([...NAME_ID_FORMATS, ...(value === '' || value === NO_FORMAT ? [] : [value])])];
  const options: Option[] = [
    ...known.map((one) => ({ value: one, label: one })),
    { value: NO_FORMAT, label: t('sso.nameIdFormat.none') },
  ];
  const hint = t('sso.nameIdFormat.hint');
  return { name: 'nameIdFormat', kind: 'choice', label: t('sso.nameIdFormat'), hint, options, value };
}

function useContextFields(settings: Settings): Field[] {
  const { t, named } = useI18n();
  const context = (settings['requestedAuthnContext'] ?? {}) as Settings;
  const isAsked = ({ contextClasses }: Values) => textOf(contextClasses).trim() !== '';
  return [
    {
      name: 'contextClasses',
      kind: 'lines',
      label: t('sso.contextClasses'),
      hint: t('sso.contextClasses.hint'),
      value: linesIn(context, 'classes'),
    },
    {
      name: 'contextComparison',
      kind: 'choice',
      label: t('sso.contextComparison'),
      isRequired: true,
      options: COMPARISONS.map((value) => ({ value, label: named('contextComparison', value) })),
      value: textIn(context, 'comparison') || 'exact',
      when: isAsked,
    },
    {
      name: 'contextAccepted',
      kind: 'lines',
      label: t('sso.contextAccepted'),
      hint: t('sso.contextAccepted.hint'),
      value: linesIn(context, 'accepted'),
      when: isAsked,
    },
  ];
}

function useRoleFields(of: IdentityProviderView | undefined): Field[] {
  const { t, named } = useI18n();
  const options = ROLES.map((value) => ({ value, label: named('role', value) }));
  const rows = (of?.rules ?? []).map((rule) => ({ ...rule, roles: rule.roles.join('\n') }) satisfies Row);
  return [
    {
      name: 'rules',
      kind: 'rows',
      label: t('sso.rules'),
      hint: t('sso.rules.hint'),
      add: t('sso.rules.add'),
      value: rows,
      columns: [
        { name: 'claim', label: t('sso.rules.claim'), placeholder: 'groups' },
        {
          name: 'op',
          label: t('sso.rules.op'),
          options: (['equals', 'prefix'] as const).map((value) => ({ value, label: t(`sso.rules.${value}`) })),
        },
        { name: 'value', label: t('sso.rules.value'), placeholder: 'release-managers' },
        { name: 'roles', label: t('roles'), kind: 'choices', options },
      ],
    },
    {
      name: 'admitsOthers',
      kind: 'yes',
      label: t('sso.admitsOthers'),
      hint: t('sso.admitsOthers.hint'),
      value: of !== undefined && of.defaultRoles !== null,
    },
    {
      name: 'defaultRoles',
      kind: 'choices',
      label: t('sso.defaultRoles'),
      options,
      value: of?.defaultRoles ?? [],
      when: (values) => values['admitsOthers'] === true,
    },
  ];
}

/** providerBody returns the request body without form-only values. @param values of a new provider, or the changed values of an existing one */
export function providerBody(values: Values, all: Values): never {
  const { name: _name, confirmOwn: _confirm, admitsOthers, certificates, nameIdFormat, ...rest } = values;
  const { contextClasses, contextComparison, contextAccepted, ...plain } = rest;
  const isContext = [contextClasses, contextComparison, contextAccepted].some((value) => value !== undefined);
  return {
    ...plain,
    // Send all certificates as one string; the service reports what it cannot parse.
    ...(certificates === undefined ? {} : { certificates: [certificates] }),
    ...(nameIdFormat === undefined ? {} : { nameIdFormat: formatOf(nameIdFormat) }),
    ...(admitsOthers === undefined ? {} : { defaultRoles: admitsOthers === true ? (all['defaultRoles'] ?? []) : null }),
    ...(isContext ? { requestedAuthnContext: contextOf(all) } : {}),
  } as never;
}

/** formatOf returns the requested NameID format. An emptied choice requests the default, a persistent name. */
function formatOf(chosen: Values[string]): string | null {
  if (chosen === NO_FORMAT) return null;
  return typeof chosen === 'string' ? chosen : (NAME_ID_FORMATS[0] ?? null);
}

function contextOf({ contextClasses: classes, contextComparison: comparison, contextAccepted: accepted }: Values) {
  if (!Array.isArray(classes) || classes.length === 0) return null;
  return { classes, comparison, ...(Array.isArray(accepted) && accepted.length > 0 ? { accepted } : {}) };
}
