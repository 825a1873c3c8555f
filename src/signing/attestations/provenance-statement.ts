import { IN_TOTO_STATEMENT } from '../../formats/encoding/dsse.js';
import { type Claims, claimValues, type VerifiedIdentity } from '../../access/identity/verified-identity.js';

/** StatementSubject contains the name of a built file and the file's hexadecimal digests by algorithm. */
export interface StatementSubject {
  readonly name: string;
  readonly digest: Readonly<Record<string, string>>;
}

export const PROVENANCE_TYPE = 'https://slsa.dev/provenance/v1';

/** BuildFacts contains the provenance fields that differ between build systems (SLSA v1.0, provenance). */
interface BuildFacts {
  readonly buildType: string;
  readonly externalParameters: object;
  readonly internalParameters: object;
  readonly source: { readonly uri: string; readonly commit: string | undefined } | undefined;
  readonly builder: string;
  readonly invocation: string | undefined;
}

/**
 * provenanceStatement returns an in-toto statement v1 with SLSA v1 provenance, which attests that the run with these verified claims built these files. Only
 * the names and digests of the files come from the caller.
 */
export function provenanceStatement(subject: readonly StatementSubject[], identity: VerifiedIdentity): object {
  const facts = factsOf(identity.claims);
  const { source, builder, invocation } = facts;
  const digest = source?.commit === undefined ? {} : { digest: { gitCommit: source.commit } };
  const { tokenSha256, keyThumbprint } = identity;
  return {
    _type: IN_TOTO_STATEMENT,
    subject,
    predicateType: PROVENANCE_TYPE,
    predicate: {
      buildDefinition: {
        buildType: facts.buildType,
        externalParameters: facts.externalParameters,
        internalParameters: { ...facts.internalParameters, identityToken: { sha256: tokenSha256, keyThumbprint } },
        resolvedDependencies: source === undefined ? [] : [{ uri: source.uri, ...digest }],
      },
      runDetails: {
        builder: { id: builder },
        metadata: invocation === undefined ? {} : { invocationId: invocation },
      },
    },
  };
}

function factsOf(claims: Claims): BuildFacts {
  const issuer = textOf(claims, 'iss') ?? '';
  if (has(claims, 'repository', 'workflow_ref', 'run_id')) return githubFacts(claims);
  if (has(claims, 'project_path', 'job_id', 'pipeline_id')) return gitlabFacts(claims, issuer);
  const { iss: _iss, aud: _aud, exp: _exp, iat: _iat, nbf: _nbf, jti: _jti, ...rest } = claims;
  return {
    buildType: 'urn:sealwright:build:workload:v1',
    externalParameters: { subject: textOf(claims, 'sub') ?? '' },
    internalParameters: { claims: rest },
    source: undefined,
    builder: issuer,
    invocation: textOf(claims, 'sub'),
  };
}

/**
 * Returns the provenance fields for GitHub Actions and for issuers with the same claims (Gitea, Forgejo). The build type is the slsa-framework's workflow v1.
 */
function githubFacts(claims: Claims): BuildFacts {
  const of = (claim: string) => textOf(claims, claim) ?? '';
  const server = serverOf(of('iss'));
  const [repository, ref, run] = [of('repository'), of('ref'), of('run_id')];
  const [file, workflowRef] = workflowOf(of('workflow_ref'), ref);
  const path = file.startsWith(`${repository}/`) ? file.slice(repository.length + 1) : file;
  const internal = ['event_name', 'repository_id', 'repository_owner_id', 'runner_environment', 'environment'];
  return {
    buildType: 'https://actions.github.io/buildtypes/workflow/v1',
    externalParameters: { workflow: { ref: workflowRef, repository: `${server}/${repository}`, path } },
    internalParameters: { github: chosen(claims, internal) },
    source: { uri: `git+${server}/${repository}@${ref}`, commit: textOf(claims, 'sha') },
    builder: `${server}/actions/runner/${textOf(claims, 'runner_environment') ?? 'unknown'}`,
    invocation: `${server}/${repository}/actions/runs/${run}/attempts/${textOf(claims, 'run_attempt') ?? '1'}`,
  };
}

function gitlabFacts(claims: Claims, server: string): BuildFacts {
  const of = (claim: string) => textOf(claims, claim) ?? '';
  const [project, ref] = [of('project_path'), textOf(claims, 'ref_path') ?? of('ref')];
  const internal = [
    'pipeline_source',
    'pipeline_id',
    'project_id',
    'runner_environment',
    'environment',
    'ref_protected',
  ];
  return {
    buildType: 'urn:sealwright:build:gitlab-ci:v1',
    externalParameters: { source: `${server}/${project}`, ref, configuration: of('ci_config_ref_uri') },
    internalParameters: { gitlab: chosen(claims, internal) },
    source: { uri: `git+${server}/${project}@${ref}`, commit: textOf(claims, 'sha') },
    builder: `${server}/-/runners/${textOf(claims, 'runner_id') ?? 'unknown'}`,
    invocation: `${server}/${project}/-/jobs/${of('job_id')}`,
  };
}

/** Splits `org/app/.github/workflows/release.yml@refs/heads/main` before the ref. The ref may also contain `@`, because branch names can contain `@`. */
function workflowOf(workflow: string, ref: string): [file: string, ref: string] {
  const at = workflow.endsWith(`@${ref}`) ? workflow.length - ref.length - 1 : workflow.indexOf('@');
  return at === -1 ? [workflow, ''] : [workflow.slice(0, at), workflow.slice(at + 1)];
}

const GITHUB_ISSUER = 'https://token.actions.githubusercontent.com';

/**
 * Returns the URL of the server that hosts the repositories. The token issuer for github.com has a different host name than the server; other issuers use the
 * server's host name.
 */
function serverOf(issuer: string): string {
  if (issuer === GITHUB_ISSUER || issuer.startsWith(`${GITHUB_ISSUER}/`)) return 'https://github.com';
  return URL.canParse(issuer) ? new URL(issuer).origin : issuer;
}

function chosen(claims: Claims, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = textOf(claims, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function has(claims: Claims, ...names: readonly string[]): boolean {
  return names.every((name) => textOf(claims, name) !== undefined);
}

/** Returns the value of a single-valued claim. Returns undefined for a claim with several values, because the trust may have accepted any of these values. */
function textOf(claims: Claims, name: string): string | undefined {
  const [value, ...others] = claimValues(claims, name);
  return others.length === 0 ? value : undefined;
}
