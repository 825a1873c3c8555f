interface SourceLinkProps {
  readonly authority: string;
  readonly jurisdiction?: string | undefined;
  /** Section and scope within the document. */
  readonly provision?: string | null | undefined;
  /** Restriction to certain organizations or uses. */
  readonly appliesTo?: string | undefined;
  readonly url?: string | null | undefined;
}

/** SourceLink links to the document that contains a deadline or position. */
export function SourceLink({ authority, jurisdiction, provision, appliesTo, url }: SourceLinkProps) {
  const details = [provision, appliesTo].filter(Boolean).join('; ');
  const name = url ? (
    <a className="sw-link-in-text" href={url} target="_blank" rel="noreferrer">
      {authority}
    </a>
  ) : (
    authority
  );
  return (
    <>
      {name}
      {jurisdiction !== undefined && ` (${jurisdiction})`}
      {details !== '' && <span className="sw-muted">{` ${details}`}</span>}
    </>
  );
}
