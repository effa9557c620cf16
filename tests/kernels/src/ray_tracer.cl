// Spheres above a chequered plane: shadows, reflections in a loop with divergent exits; writes RGBA8.
typedef struct {
    float4 center_radius;
    float4 color_mirror;  // rgb, and how much of the light is reflected
} Sphere;

#define FAR 1.0e20f
#define SKY -1
#define PLANE -2

float hit_sphere(float4 s, float3 origin, float3 dir) {
    float3 oc = origin - s.xyz;
    float b = dot(oc, dir);
    float disc = b * b - (dot(oc, oc) - s.w * s.w);
    if (disc < 0.0f) return FAR;
    float root = sqrt(disc);
    float t = -b - root;
    if (t > 1.0e-3f) return t;
    t = root - b;
    return t > 1.0e-3f ? t : FAR;
}

int nearest(global const Sphere* spheres, uint count, float3 origin, float3 dir, float* distance) {
    int found = SKY;
    float best = FAR;
    if (dir.y < -1.0e-4f) {
        float t = -origin.y / dir.y;
        if (t > 1.0e-3f) {
            best = t;
            found = PLANE;
        }
    }
    for (uint i = 0; i < count; ++i) {
        float t = hit_sphere(spheres[i].center_radius, origin, dir);
        if (t < best) {
            best = t;
            found = (int)i;
        }
    }
    *distance = best;
    return found;
}

bool in_shadow(global const Sphere* spheres, uint count, float3 point, float3 light) {
    for (uint i = 0; i < count; ++i)
        if (hit_sphere(spheres[i].center_radius, point, light) < FAR) return true;
    return false;
}

kernel void ray_tracer(uint width, uint height, uint count, global const Sphere* spheres, uint bounces,
                       global uchar4* image) {
    uint px = get_global_id(0), py = get_global_id(1);
    if (px >= width || py >= height) return;
    const float3 light = (float3)(0.5345225f, 0.8017837f, -0.2672612f);
    float3 origin = (float3)(0.0f, 1.2f, -4.5f);
    float u = ((float)px + 0.5f - 0.5f * (float)width) / (float)height;
    float v = (0.5f * (float)height - (float)py - 0.5f) / (float)height;
    float3 dir = (float3)(u, v - 0.12f, 1.1f);
    dir = dir / sqrt(dot(dir, dir));
    float3 color = (float3)(0.0f);
    float weight = 1.0f;
    for (uint bounce = 0;; ++bounce) {
        float t;
        int hit = nearest(spheres, count, origin, dir, &t);
        if (hit == SKY) {
            float up = 0.5f + 0.5f * dir.y;
            color += weight * ((float3)(1.0f, 1.0f, 1.0f) * (1.0f - up) + (float3)(0.35f, 0.55f, 0.95f) * up);
            break;
        }
        float3 point = origin + dir * t;
        float3 normal = (float3)(0.0f, 1.0f, 0.0f);
        float3 surface;
        float mirror = 0.15f;
        if (hit == PLANE) {
            int square = (int)floor(point.x) + (int)floor(point.z);
            surface = (square & 1) ? (float3)(0.9f, 0.9f, 0.85f) : (float3)(0.2f, 0.25f, 0.3f);
        } else {
            float4 s = spheres[hit].center_radius;
            normal = (point - s.xyz) / s.w;
            surface = spheres[hit].color_mirror.xyz;
            mirror = spheres[hit].color_mirror.w;
        }
        float diffuse = fmax(dot(normal, light), 0.0f);
        if (diffuse > 0.0f && in_shadow(spheres, count, point, light)) diffuse = 0.0f;
        color += surface * (weight * (1.0f - mirror) * (0.2f + 0.8f * diffuse));
        weight *= mirror;
        if (bounce == bounces || weight < 0.02f) break;
        dir = dir - normal * (2.0f * dot(dir, normal));
        origin = point;
    }
    color = clamp(color, 0.0f, 1.0f) * 255.0f + 0.5f;
    image[py * width + px] = (uchar4)((uchar)color.x, (uchar)color.y, (uchar)color.z, 255);
}
