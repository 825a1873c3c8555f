interface SourceLinkProps {
  readonly authority: string;
  readonly jurisdiction?: string | undefined;
  /** Section and scope within the document. */
  readonly provision?: string | null | undefined;
  /** Whom or what alone it is about. */
  readonly appliesTo?: string | undefined;
  readonly url?: string | null | undefined;
}

/** The document that a deadline or position comes from, with a link to it. */
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
