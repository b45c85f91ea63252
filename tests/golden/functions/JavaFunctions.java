import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.time.*;
import java.time.format.*;
import java.util.*;
import java.util.regex.*;

/** Reads lines of tab-separated fields in base64, and answers each with Java's result in base64. */
public class JavaFunctions {
    static String run(String[] a) {
        try {
            switch (a[0]) {
                case "double": return Double.toString(Double.longBitsToDouble(Long.parseUnsignedLong(a[1], 16)));
                case "format": return DateTimeFormatter.ofPattern(a[1], Locale.US)
                    .format(Instant.ofEpochMilli(Long.parseLong(a[2])).atZone(ZoneId.of(a[3])));
                case "parse": {
                    DateTimeFormatter f = new DateTimeFormatterBuilder().parseCaseInsensitive().appendPattern(a[1])
                        .toFormatter(Locale.US);
                    LocalDateTime t = LocalDateTime.parse(a[2], f);
                    return Long.toString(t.toInstant(ZoneOffset.UTC).toEpochMilli());
                }
                case "find": {
                    Matcher m = Pattern.compile(a[1]).matcher(a[2]);
                    StringBuilder all = new StringBuilder();
                    while (m.find()) all.append('<').append(m.group()).append('>');
                    return all.toString();
                }
                case "replace": return a[2].replaceAll(a[1], a[3]);
                case "decimal": {
                    BigDecimal x = new BigDecimal(a[2]), y = new BigDecimal(a[3]);
                    int scale = Integer.parseInt(a[4]);
                    BigDecimal r;
                    switch (a[1]) {
                        case "+": r = x.add(y); break;
                        case "-": r = x.subtract(y); break;
                        case "*": r = x.multiply(y); break;
                        case "/": r = x.divide(y, new java.math.MathContext(Integer.parseInt(a[5]), RoundingMode.HALF_UP)); break;
                        default: r = x.remainder(y);
                    }
                    return r.setScale(scale, RoundingMode.HALF_UP).toPlainString();
                }
                case "math": {
                    double x = Double.parseDouble(a[2]), y = Double.parseDouble(a[3]);
                    switch (a[1]) {
                        case "round": return Long.toString(Math.round(x));
                        case "power": return Double.toString(Math.pow(x, y));
                        case "ceil": return Double.toString(Math.ceil(x));
                        case "floor": return Double.toString(Math.floor(x));
                        case "int": return Integer.toString((int) x);
                        case "long": return Long.toString((long) x);
                        case "mod": return Double.toString(x % y);
                        default: return Double.toString(x / y);
                    }
                }
                case "upper": return a[1].toUpperCase(Locale.ROOT);
                case "lower": return a[1].toLowerCase(Locale.ROOT);
                case "length": return Integer.toString(a[1].length());
                case "encode": return java.net.URLEncoder.encode(a[1], StandardCharsets.UTF_8);
                default: throw new IllegalArgumentException(a[0]);
            }
        } catch (Exception e) {
            return "!error";
        }
    }

    public static void main(String[] args) {
        Scanner in = new Scanner(System.in, StandardCharsets.US_ASCII);
        while (in.hasNextLine()) {
            String[] fields = in.nextLine().split("\t", -1);
            for (int i = 0; i < fields.length; i++)
                fields[i] = new String(Base64.getDecoder().decode(fields[i]), StandardCharsets.UTF_8);
            System.out.println(Base64.getEncoder().encodeToString(run(fields).getBytes(StandardCharsets.UTF_8)));
        }
    }
}
