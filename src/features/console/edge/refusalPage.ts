import type { ServiceError } from "../../../platform/base/errors.ts";
import { errorStatus } from "../../../platform/http/errorStatus.ts";
import { escapeHtml } from "../../../platform/util/escapeHtml.ts";

/** What people see who went to an address of the console, not to a page of it, and are refused. HTML, without a script or style. */
export const refusalPage = ({ reason, message }: ServiceError, requestId: string): Buffer => {
  const title = escapeHtml(errorStatus(reason).title);
  return Buffer.from(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title} · Latchkey</title></head>
<body>
<h1>${title}</h1>
<p>${escapeHtml(message)}</p>
<p>Request ${escapeHtml(requestId)}. <a href="/ui">Back to the console</a></p>
</body>
</html>
`);
};
