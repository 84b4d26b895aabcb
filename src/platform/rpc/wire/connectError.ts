import { create, toBinary } from "@bufbuild/protobuf";
import { type Code, ConnectError } from "@connectrpc/connect";
import { type ErrorDetail, ErrorDetailSchema } from "../../../../gen/latchkey/v2/errors_pb.ts";
import type { ServiceError } from "../../base/errors.ts";
import { createErrorType, type ErrorsBaseUrl, type ErrorType } from "../../http/errorBody.ts";
import { errorStatus } from "../../http/errorStatus.ts";
import { ProtocolError } from "./protocolError.ts";

/** gRPC carries errors in trailers, of which some clients accept 8 KiB in all; base64 adds a third. */
const maxDetailBytes = 3_072;
const maxMessageLength = 512;

// Texts may quote the caller: half a surrogate pair can be written neither in a message nor in a trailer.
const detailOf = (error: ServiceError, requestId: string, errorType: ErrorType): ErrorDetail => {
  const { http, title } = errorStatus(error.reason);
  const violations = error.violations.map(({ location, message, fix = "" }) => ({
    location: location.toWellFormed(),
    message: message.toWellFormed(),
    fix,
  }));
  const degraded = [...(error.degraded ?? [])];
  return create(ErrorDetailSchema, { type: errorType(error.reason), title, httpStatus: http, requestId, violations, degraded });
};

/** Leaves violations out, from the end, until the detail is at most `maxDetailBytes` long. */
const trim = (detail: ErrorDetail): void => {
  const { violations } = detail;
  while (violations.length > 0 && toBinary(ErrorDetailSchema, detail).length > maxDetailBytes) violations.length >>= 1;
};

/** The code of a failure: that of its reason (grpc §3), unless the protocol names another. */
export const codeOf = (error: ServiceError): Code => (error instanceof ProtocolError ? error.code : errorStatus(error.reason).code);

/** How a failure looks over gRPC and Connect. With `inTrailers` it has to be short. */
export type DescribeError = (error: ServiceError, requestId: string, inTrailers: boolean) => ConnectError;

/**
 * Tells the same as `/v2` (grpc §3): code, detail as message, one `latchkey.v2.ErrorDetail`. In trailers only the first
 * violations, and the beginning of the message.
 */
export const createDescribeError = (errorsBaseUrl: ErrorsBaseUrl): DescribeError => {
  const errorType = createErrorType(errorsBaseUrl);
  return (error, requestId, inTrailers) => {
    const message = error.message.toWellFormed();
    const detail = detailOf(error, requestId, errorType);
    if (inTrailers) trim(detail);
    const text = inTrailers ? message.slice(0, maxMessageLength).toWellFormed() : message;
    return new ConnectError(text, codeOf(error), undefined, [{ desc: ErrorDetailSchema, value: detail }]);
  };
};
